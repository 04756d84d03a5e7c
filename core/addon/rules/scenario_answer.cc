#include <algorithm>

#include "core/addon/rules/scenario.h"

namespace fleetadm::addon {
namespace {

bool is_empty(const Json& value) {
  return value.is_null() || ((value.is_object() || value.is_array()) && value.empty()) ||
         (value.is_string() && value.get_ref<const std::string&>().empty()) || (value.is_number_integer() && value == 0);
}

/// Without the members that mean the same as if they were absent. What is inside a manifest is left alone.
void drop_empty(Json& value) {
  if (value.is_array()) {
    for (Json& item : value) drop_empty(item);
  }
  if (!value.is_object()) return;
  for (auto member = value.begin(); member != value.end();) {
    const bool opaque = member.key() == "manifests" || member.key() == "labels" || member.key() == "annotations";
    if (!opaque) drop_empty(member.value());
    member = is_empty(member.value()) ? value.erase(member) : std::next(member);
  }
}

void sort_by(Json& object, Path list, const char* key) {
  Json* found = const_cast<Json*>(find(object, list));
  if (found == nullptr || !found->is_array()) return;
  std::stable_sort(found->begin(), found->end(), [key](const Json& a, const Json& b) { return str(a, {key}) < str(b, {key}); });
}

}  // namespace

Json comparable(const Json& object) {
  Json copy = object;
  for (const char* member : {"uid", "generation", "resourceVersion", "deletionTimestamp"}) erase_at(copy, {"metadata", member});
  if (type_of(copy) == manifest_works()) copy.erase("status");
  sort_by(copy, {"status", "conditions"}, "type");
  sort_by(copy, {"status", "supportedConfigs"}, "resource");
  drop_empty(copy);
  return copy;
}

Json pass_answer(const ObjectReader& before, const Pass& pass) {
  std::vector<Json> changed;
  for (const Json& object : pass.changed) {
    Json now = comparable(object);
    const ObjectPtr was = before.get(type_of(object), namespace_of(object), name_of(object));
    if (was == nullptr || comparable(*was) != now) changed.push_back(std::move(now));
  }
  const auto key = [](const Json& object) { return std::tuple(str(object, {"kind"}), namespace_of(object), name_of(object)); };
  std::sort(changed.begin(), changed.end(), [&](const Json& a, const Json& b) { return key(a) < key(b); });
  Json answer = Json::object({{"changed", std::move(changed)}});
  std::vector<std::string> deleted;
  for (const ObjectRef& gone : pass.deleted) {
    deleted.push_back(gone.type.resource + "/" + (gone.ns.empty() ? "" : gone.ns + "/") + gone.name);
  }
  std::sort(deleted.begin(), deleted.end());
  if (!deleted.empty()) answer["deleted"] = std::move(deleted);
  std::vector<std::string> errors;
  for (const Error& error : pass.errors) errors.push_back(error.message);
  if (!errors.empty()) answer["errors"] = std::move(errors);
  if (pass.requeue_after) answer["requeueAfter"] = format_duration(*pass.requeue_after);
  return answer;
}

}  // namespace fleetadm::addon
