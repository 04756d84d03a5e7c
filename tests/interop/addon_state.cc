#include "tests/interop/addon_state.h"

#include <algorithm>
#include <iterator>
#include <regex>
#include <utility>

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kAddonApi = "/apis/addon.open-cluster-management.io/v1beta1";
constexpr std::string_view kWorksOfAll = "/apis/work.open-cluster-management.io/v1";
constexpr std::string_view kRbacApi = "/apis/rbac.authorization.k8s.io/v1";

Json labelled(const KubeServer& hub, std::string_view api, const std::string& plural, const std::string& label) {
  return hub.get(std::string(api) + "/" + plural + "?labelSelector=" + label);
}

std::string addon_label(const std::string& addon) { return "open-cluster-management.io%2Faddon-name%3D" + addon; }

Json conditions_told(const Json& holder) {
  static const std::regex uid("UID: [0-9a-f-]+");
  Json told = Json::object();
  for (const Json& entry : list_at(holder, {"conditions"})) {
    told[str(entry, {"type"})] = {str(entry, {"status"}), str(entry, {"reason"}),
                                  std::regex_replace(str(entry, {"message"}), uid, "UID: <uid>")};
  }
  return told;
}

Json owners_of(const Json& object) {
  Json owners = Json::array();
  for (Json owner : list_at(object, {"metadata", "ownerReferences"})) {
    owner.erase("uid");
    owners.push_back(std::move(owner));
  }
  return owners;
}

Json metadata_told(const Json& object) {
  Json told = Json::object();
  for (const char* member : {"labels", "annotations", "finalizers"}) {
    const Json* value = find(object, {"metadata", member});
    if (value != nullptr && !value->empty()) told[member] = *value;
  }
  told["owners"] = owners_of(object);
  return told;
}

/// Without what is absent and yet there: Go programs write null and empty objects for it, ours nothing or an empty list.
Json without_nothing(Json value) {
  if (!value.is_structured()) return value;
  for (auto at = value.begin(); at != value.end();) {
    *at = without_nothing(std::move(*at));
    const bool nothing = value.is_object() && (at->is_null() || (at->is_structured() && at->empty()));
    at = nothing ? value.erase(at) : std::next(at);
  }
  return value;
}

Json addon_told(const Json& addon) {
  Json told = metadata_told(addon);
  Json status = without_nothing(object_at(addon, {"status"}));
  status["conditions"] = conditions_told(status);
  if (Json& supported = status["supportedConfigs"]; supported.is_array()) {
    std::sort(supported.begin(), supported.end());  // upstream's order is that of a map, another one each time
  } else {
    status.erase("supportedConfigs");
  }
  told["spec"] = object_at(addon, {"spec"});
  told["status"] = std::move(status);
  told["goes"] = is_deleting(addon);
  return told;
}

Json declaration_told(const Json& declaration) {
  Json told = metadata_told(declaration);
  // Ours records what was rolled out, for rollout undo.
  erase_at(told, {"annotations", "fleetadm.io/rollout-revisions"});
  if (object_at(told, {"annotations"}).empty()) told.erase("annotations");
  Json status = without_nothing(object_at(declaration, {"status"}));
  if (Json& progressions = status["installProgressions"]; progressions.is_array()) {
    for (Json& one : progressions) one["conditions"] = conditions_told(one);
  }
  if (!status["installProgressions"].is_array()) status.erase("installProgressions");
  told["status"] = std::move(status);
  return told;
}

/// Rights: upstream gives those of a template to the add-on's agents of all clusters, here they are the cluster's own agent's.
/// Ours carry the cluster's name, so that bindings in a shared namespace can be told apart.
Json rights_told(const Json& object) {
  Json told = metadata_told(object);
  for (const char* member : {"rules", "roleRef", "subjects"}) {
    if (const Json* value = find(object, {member})) told[member] = *value;
  }
  erase_at(told, {"labels", "open-cluster-management.io/cluster-name"});
  // Upstream's token Role lets agents that speak gRPC subscribe; ours have no such driver.
  if (Json& rules = told["rules"]; rules.is_array()) {
    Json spoken = Json::array();
    for (const Json& rule : rules) {
      if (list_at(rule, {"verbs"}) != Json::array({"subscribe"})) spoken.push_back(rule);
    }
    rules = std::move(spoken);
  } else {
    told.erase("rules");
  }
  if (Json& subjects = told["subjects"]; subjects.is_array()) {
    Json own = Json::array();
    for (const Json& subject : subjects) {
      if (!str(subject, {"name"}).starts_with("system:open-cluster-management:addon:")) own.push_back(subject);
    }
    subjects = std::move(own);
  } else {
    told.erase("subjects");
  }
  return told;
}

}  // namespace

Json works_of_addon(const KubeServer& hub, const std::string& addon) {
  return labelled(hub, kWorksOfAll, "manifestworks", addon_label(addon));
}

std::string addon_state(const KubeServer& hub, const std::string& addon) {
  Json all = Json::object();
  const Json declaration = hub.get(std::string(kAddonApi) + "/clustermanagementaddons/" + addon);
  if (!name_of(declaration).empty()) all["declaration"] = declaration_told(declaration);
  const Json addons = hub.get(std::string(kAddonApi) + "/managedclusteraddons");
  for (const Json& one : list_at(addons, {"items"})) {
    if (name_of(one) == addon) all["addon " + namespace_of(one)] = addon_told(one);
  }
  const Json works = works_of_addon(hub, addon);
  for (const Json& work : list_at(works, {"items"})) {
    Json told = metadata_told(work);
    told["spec"] = object_at(work, {"spec"});
    all["work " + namespace_of(work) + "/" + name_of(work)] = std::move(told);
  }
  const std::string token_label = "addon.open-cluster-management.io%2Fname%3D" + addon;
  for (const std::string& label : {addon_label(addon), token_label}) {
    for (const char* plural : {"roles", "rolebindings"}) {
      const Json list = labelled(hub, kRbacApi, plural, label);
      for (const Json& one : list_at(list, {"items"})) {
        all[std::string(plural) + " " + namespace_of(one) + "/" + name_of(one)] = rights_told(one);
      }
    }
  }
  const Json accounts = labelled(hub, "/api/v1", "serviceaccounts", token_label);
  for (const Json& one : list_at(accounts, {"items"})) {
    all["account " + namespace_of(one) + "/" + name_of(one)] = metadata_told(one);
  }
  return all.dump(1);
}

}  // namespace fleetadm::testkit
