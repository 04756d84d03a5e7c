#include <algorithm>

#include "core/sandbox/api/engine.h"
#include "core/sandbox/api/names.h"
#include "core/sandbox/api/selector.h"

namespace fleetadm::sandbox {
namespace {

constexpr std::size_t kMostAnnotationBytes = 256 * 1024;

std::vector<std::string> name_problems(const Kind& kind, const std::string& name) {
  if (auto unusable = path_segment_problems(name); !unusable.empty()) return unusable;
  switch (kind.name_rule) {
    case NameRule::kSubdomain: return dns_subdomain_problems(name);
    case NameRule::kLabel:  // those of services have to begin with a letter
      return kind.kind == "Service" ? service_name_problems(name) : dns_label_problems(name);
    case NameRule::kPath: break;
  }
  return {};
}

void check_name(const Kind& kind, const std::string& name, std::vector<Cause>& out) {
  if (name.empty()) {
    out.push_back(required("metadata.name", "name or generateName is required"));
    return;
  }
  for (const auto& problem : name_problems(kind, name)) out.push_back(bad_value("metadata.name", name, problem));
}

void check_owners(const Json& object, std::vector<Cause>& out) {
  int controllers = 0;
  int index = 0;
  for (const Json& owner : list_at(object, {"metadata", "ownerReferences"})) {
    const auto at = "metadata.ownerReferences[" + std::to_string(index++) + "]";
    for (const char* field : {"apiVersion", "kind", "name", "uid"}) {
      if (str(owner, {field}).empty()) out.push_back(bad_value(at + "." + field, "", "must not be empty"));
    }
    if (flag(owner, {"controller"})) ++controllers;
  }
  if (controllers > 1) {
    out.push_back(bad_value("metadata.ownerReferences", list_at(object, {"metadata", "ownerReferences"}),
                            "Only one reference can have Controller set to true"));
  }
}

}  // namespace

std::vector<Cause> metadata_problems(const Kind& kind, const Json& object) {
  std::vector<Cause> out;
  check_name(kind, name_of(object), out);
  for (const auto& [key, value] : strings_at(object, {"metadata", "labels"})) {
    for (const auto& problem : label_key_problems(key)) out.push_back(bad_value("metadata.labels", key, problem));
    for (const auto& problem : label_value_problems(value)) out.push_back(bad_value("metadata.labels", value, problem));
  }
  std::size_t bytes = 0;
  for (const auto& [key, value] : strings_at(object, {"metadata", "annotations"})) {
    bytes += key.size() + value.size();
    std::string folded = key;
    std::transform(folded.begin(), folded.end(), folded.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    for (const auto& problem : label_key_problems(folded)) out.push_back(bad_value("metadata.annotations", key, problem));
  }
  if (bytes > kMostAnnotationBytes)
    out.push_back({"FieldValueTooLong", "Too long: may not be more than 262144 bytes", "metadata.annotations"});
  int index = 0;
  for (const auto& finalizer : string_list_at(object, {"metadata", "finalizers"})) {
    const auto field = "metadata.finalizers[" + std::to_string(index++) + "]";
    const bool plain = finalizer == "orphan" || finalizer == "foregroundDeletion" || finalizer == "kubernetes";
    if (!plain && (!is_qualified_name(finalizer) || finalizer.find_first_of("/.") == std::string::npos)) {
      out.push_back(bad_value(field, finalizer, "name is neither a standard finalizer name nor is it fully qualified"));
    }
  }
  check_owners(object, out);
  return out;
}

bool same_but(const Json& a, const Json& b, std::initializer_list<std::string_view> left_out) {
  if (!a.is_object() || !b.is_object()) return a == b;
  const auto skipped = [&](const std::string& key) { return std::find(left_out.begin(), left_out.end(), key) != left_out.end(); };
  auto left = a.begin();
  auto right = b.begin();
  while (true) {
    while (left != a.end() && skipped(left.key())) ++left;
    while (right != b.end() && skipped(right.key())) ++right;
    if (left == a.end() || right == b.end()) return left == a.end() && right == b.end();
    if (left.key() != right.key() || *left != *right) return false;
    ++left;
    ++right;
  }
}

}  // namespace fleetadm::sandbox
