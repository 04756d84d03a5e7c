#include "core/addon/hub/lean_objects.h"

#include <initializer_list>
#include <string_view>
#include <utility>

#include "core/addon/rules/deploy_works.h"
#include "core/api/kinds.h"

namespace fleetadm::addon {
namespace {

void keep_conditions(Json& object, std::initializer_list<std::string_view> types) {
  Json kept = Json::array();
  for (const Json& condition : list_at(object, {"status", "conditions"})) {
    for (const std::string_view type : types) {
      if (str(condition, {"type"}) == type) kept.push_back(condition);
    }
  }
  if (!list_at(object, {"status", "conditions"}).empty()) object["status"]["conditions"] = std::move(kept);
}

void keep_members(Json& object, Path at, std::initializer_list<std::string_view> members) {
  const Json* whole = find(object, at);
  if (whole == nullptr || !whole->is_object()) return;
  Json kept = Json::object();
  for (const std::string_view member : members) {
    if (const Json* value = find(*whole, {member})) kept[std::string(member)] = *value;
  }
  at_or_make(object, at) = std::move(kept);
}

}  // namespace

void keep_of_cluster(Json& cluster) {
  keep_members(cluster, {"spec"}, {"hubAcceptsClient"});
  keep_members(cluster, {"status"}, {"conditions"});
  keep_conditions(cluster, {api::kConditionAvailable});
}

void keep_of_work(Json& work) {
  keep_spec_as_hash(work);
  keep_members(work, {"status"}, {"conditions", "resourceStatus"});
  Json* entries = const_cast<Json*>(find(work, {"status", "resourceStatus", "manifests"}));
  if (entries == nullptr || !entries->is_array()) return;
  for (Json& entry : *entries) {
    if (entry.is_object()) entry.erase("conditions");
  }
}

void keep_of_request(Json& csr) {
  if (str(csr, {"status", "certificate"}).empty()) return;
  erase_at(csr, {"spec", "request"});
  csr["status"]["certificate"] = "issued";
}

void keep_of_many(Json& addon) {
  keep_members(addon, {"metadata"}, {"name", "namespace", "deletionTimestamp"});
  keep_members(addon, {"status"}, {"configReferences", "conditions"});
  keep_conditions(addon, {"Configured", "Progressing"});
}

}  // namespace fleetadm::addon
