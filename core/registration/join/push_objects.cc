#include "core/registration/join/push_objects.h"

#include <iterator>
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
  FLEETADM_TRY(auto objects, templates::render("push/member.yaml", {{"namespace", ns}}));
  if (full_rights) {
    FLEETADM_TRY(auto more, templates::render("push/full-rights.yaml", {{"namespace", ns}}));
    objects.insert(objects.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  for (Json& object : objects) {
    if (!namespace_of(object).empty() || owner_uid.empty()) continue;
    object["metadata"]["ownerReferences"] =
        Json::array({{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"name", ns}, {"uid", owner_uid}}});
  }
  return objects;
}

Result<std::vector<Json>> push_types() { return templates::render("crds/spoke/appliedmanifestworks.yaml", {}); }

Json push_secret(const std::string& cluster, const std::string& cluster_id, const std::string& kubeconfig) {
  Json secret = kubeconfig_secret(api::kPushNamespace, cluster, kubeconfig);
  secret["metadata"]["labels"] = {{std::string(api::kPushMemberLabel), cluster}};
  secret["metadata"]["annotations"] = {{std::string(api::kClusterIdAnnotation), cluster_id}};
  return secret;
}

Result<std::optional<std::string>> push_kubeconfig(const kube::Client& hub, const std::string& cluster) {
  FLEETADM_TRY(const auto secret, hub.find(r::secrets(), api::kPushNamespace, cluster));
  if (!secret || label_of(*secret, api::kPushMemberLabel) != cluster) return std::nullopt;
  FLEETADM_TRY(std::string text, base64_decode(str(*secret, {"data", "kubeconfig"})));
  return text;
}

}  // namespace fleetadm::join
