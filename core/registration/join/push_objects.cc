#include "core/registration/join/push_objects.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "core/api/push_member.h"
#include "core/registration/join/hub_secrets.h"
#include "core/registration/join/karmada_names.h"
#include "kubeclient/base/encoding.h"
#include "templates/templates.h"

namespace fleetadm::join {

namespace r = kube::resources;

Result<std::vector<Json>> push_root(const PushIdentity& identity, const std::string& cluster) {
  if (identity.names == api::MemberNames::kKarmada) return karmada_binding(identity.hub_id, cluster);
  return templates::render(
      "push/namespace.yaml",
      {{"namespace", api::push_namespace_on_member(identity.hub_id)}, {"cluster", cluster}, {"hub", identity.hub_id}});
}

Result<std::vector<Json>> push_objects(const PushIdentity& identity, const std::string& cluster, const std::string& owner_uid,
                                       bool full_rights) {
  if (identity.names == api::MemberNames::kKarmada) return karmada_objects(identity.hub_id, cluster, owner_uid);
  const std::string ns = api::push_namespace_on_member(identity.hub_id);
  const std::map<std::string, Json> values{{"namespace", ns}, {"user", api::push_works_user(ns)}};
  FLEETADM_TRY(auto objects, templates::render("push/member.yaml", values));
  if (full_rights) {
    FLEETADM_TRY(auto more, templates::render("push/full-rights.yaml", values));
    objects.insert(objects.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  for (Json& object : objects) {
    if (!namespace_of(object).empty() || owner_uid.empty()) continue;
    object["metadata"]["ownerReferences"] =
        Json::array({{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"name", ns}, {"uid", owner_uid}}});
  }
  return objects;
}

void follow_admin(const Json& admin, std::vector<Json>& objects) {
  const auto of_works = [](const char* kind) {
    return [kind](const Json& object) { return str(object, {"kind"}) == kind && name_of(object).ends_with(":works"); };
  };
  const auto role = std::find_if(objects.begin(), objects.end(), of_works("ClusterRole"));
  const auto binding = std::find_if(objects.begin(), objects.end(), of_works("ClusterRoleBinding"));
  if (role == objects.end() || binding == objects.end()) return;
  Json& selectors = (*role)["aggregationRule"]["clusterRoleSelectors"];
  selectors.erase(selectors.end() - 1);  // of the usual one
  for (const Json& selector : list_at(admin, {"aggregationRule", "clusterRoleSelectors"})) selectors.push_back(selector);
  if (find(admin, {"aggregationRule"}) != nullptr) return;
  Json bound = *binding;
  bound["metadata"]["name"] = name_of(bound) + ":admin";
  bound["roleRef"]["name"] = name_of(admin);
  objects.push_back(std::move(bound));
}

Result<std::vector<Json>> push_types() { return templates::render("crds/spoke/appliedmanifestworks.yaml", {}); }

Json push_secret(const std::string& cluster, const std::string& cluster_id, const std::string& kubeconfig,
                 const std::string& works_as) {
  Json secret = kubeconfig_secret(api::kPushNamespace, cluster, kubeconfig);
  secret["metadata"]["labels"] = {{std::string(api::kPushMemberLabel), cluster}};
  secret["metadata"]["annotations"] = {{std::string(api::kClusterIdAnnotation), cluster_id}};
  if (!works_as.empty()) secret["metadata"]["annotations"][std::string(api::kWorksAsAnnotation)] = works_as;
  return secret;
}

Result<std::optional<PushCredential>> push_credential(const kube::Client& hub, const std::string& cluster) {
  FLEETADM_TRY(const auto secret, hub.find(r::secrets(), api::kPushNamespace, cluster));
  if (!secret || label_of(*secret, api::kPushMemberLabel) != cluster) return std::nullopt;
  FLEETADM_TRY(std::string text, base64_decode(str(*secret, {"data", "kubeconfig"})));
  return PushCredential{std::move(text), annotation_of(*secret, api::kWorksAsAnnotation)};
}

}  // namespace fleetadm::join
