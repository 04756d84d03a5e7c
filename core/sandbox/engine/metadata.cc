#include <algorithm>
#include <set>

#include "core/sandbox/engine/engine.h"
#include "kubeclient/base/names.h"

namespace fleetadm::sandbox {
namespace {

constexpr std::size_t kMaxAnnotationsSize = 256 * 1024;

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

void check_name(const Kind& kind, const Json& object, std::vector<Cause>& out) {
  if (auto prefix = str(object, {"metadata", "generateName"}); !prefix.empty()) {
    const auto given = prefix;
    if (prefix.back() == '-') prefix.back() = 'a';  // as what follows it will make of it
    for (const auto& problem : name_problems(kind, prefix)) out.push_back(bad_value("metadata.generateName", given, problem));
  }
  const auto name = name_of(object);
  if (name.empty()) {
    out.push_back(required("metadata.name", "name or generateName is required"));
    return;
  }
  for (const auto& problem : name_problems(kind, name)) out.push_back(bad_value("metadata.name", name, problem));
}

void check_owners(const Json& object, std::vector<Cause>& out) {
  const std::string at = "metadata.ownerReferences";
  const Json& owners = list_at(object, {"metadata", "ownerReferences"});
  std::string controller;
  for (const Json& owner : owners) {
    const auto version = str(owner, {"apiVersion"});
    const auto kind = str(owner, {"kind"});
    if (version.empty()) out.push_back(bad_value(at + ".apiVersion", version, "version must not be empty"));
    for (const char* field : {"kind", "name", "uid"}) {
      if (str(owner, {field}).empty()) out.push_back(bad_value(at + "." + field, "", "must not be empty"));
    }
    if (version == "v1" && kind == "Event")
      out.push_back(bad_value(at, owner, "/v1, Kind=Event is disallowed from being an owner"));
    if (!flag(owner, {"controller"})) continue;
    const auto here = kind + "/" + str(owner, {"name"});
    if (controller.empty()) {
      controller = here;
    } else {
      out.push_back(bad_value(
          at, owners,
          "Only one reference can have Controller set to true. Found \"true\" in references for " + controller + " and " + here));
    }
  }
}

bool is_standard_finalizer(std::string_view name) {
  return name == "orphan" || name == "foregroundDeletion" || name == "kubernetes";
}

/// Groups whose kinds may have finalizers without a domain, as custom resources may.
bool takes_plain_finalizers(const Kind& kind) {
  return kind.custom != nullptr || kind.group == "coordination.k8s.io" || kind.group == "admissionregistration.k8s.io" ||
         kind.group == "apiextensions.k8s.io" || kind.group == "node.k8s.io";
}

void check_finalizers(const Kind& kind, const Json& object, std::vector<Cause>& out) {
  const std::string at = "metadata.finalizers";
  const auto finalizers = string_list_at(object, {"metadata", "finalizers"});
  for (const auto& finalizer : finalizers) {
    for (const auto& problem : label_key_problems(finalizer)) out.push_back(bad_value(at, finalizer, problem));
  }
  const auto has = [&](std::string_view name) {
    return std::find(finalizers.begin(), finalizers.end(), name) != finalizers.end();
  };
  if (has("orphan") && has("foregroundDeletion"))
    out.push_back(
        bad_value(at, list_at(object, {"metadata", "finalizers"}), "finalizer orphan and foregroundDeletion cannot be both set"));
  if (takes_plain_finalizers(kind)) return;
  for (std::size_t i = 0; i < finalizers.size(); ++i) {
    if (finalizers[i].find('/') == std::string::npos && !is_standard_finalizer(finalizers[i])) {
      out.push_back(bad_value(at + "[" + std::to_string(i) + "]", finalizers[i],
                              "name is neither a standard finalizer name nor is it fully qualified"));
    }
  }
}

}  // namespace

std::vector<Cause> metadata_problems(const Kind& kind, const Json& object) {
  std::vector<Cause> out;
  check_name(kind, object, out);
  if (const auto generation = num(object, {"metadata", "generation"}); generation < 0)
    out.push_back(bad_value("metadata.generation", generation, "must be greater than or equal to 0"));
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
  if (bytes > kMaxAnnotationsSize)
    out.push_back({"FieldValueTooLong", "Too long: may not be more than 262144 bytes", "metadata.annotations"});
  check_owners(object, out);
  check_finalizers(kind, object, out);
  return out;
}

std::vector<std::string> finalizer_warnings(const Json& object, const Json* old) {
  std::set<std::string> added;
  for (auto& name : string_list_at(object, {"metadata", "finalizers"})) added.insert(std::move(name));
  if (old != nullptr) {
    for (const auto& name : string_list_at(*old, {"metadata", "finalizers"})) added.erase(name);
  }
  std::vector<std::string> out;
  for (const auto& name : added) {
    if (name.find('/') != std::string::npos || is_standard_finalizer(name)) continue;
    out.push_back("metadata.finalizers: " + dump_json(Json(name)) +
                  ": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers");
  }
  return out;
}

std::vector<std::string> merge_owners(Json& object) {
  const Json* owners = find(object, {"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array() || owners->size() < 2) return {};
  Json kept = Json::array();
  std::string twice;
  for (const Json& owner : *owners) {
    if (std::find(kept.begin(), kept.end(), owner) == kept.end()) {
      kept.push_back(owner);
    } else {
      twice += (twice.empty() ? "" : ", ") + str(owner, {"uid"});
    }
  }
  if (kept.size() == owners->size()) return {};
  at_or_make(object, {"metadata", "ownerReferences"}) = std::move(kept);
  return {
      ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such "
      "requests as early as 1.24; please fix your requests; duplicate UID(s) observed: " +
      twice + "]"};
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
