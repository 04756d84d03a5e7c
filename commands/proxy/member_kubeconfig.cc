#include "commands/proxy/member_kubeconfig.h"

#include <utility>

#include "kubeclient/base/encoding.h"
#include "kubeclient/config/kubeconfig.h"

namespace fleetadm::commands {
namespace {

constexpr const char* kAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

const Json* entry_named(const Json& document, const char* list, const char* entry, const std::string& name) {
  for (const Json& item : list_at(document, {list}))
    if (str(item, {"name"}) == name) return find(item, {entry});
  return nullptr;
}

/// Impersonation of the command line takes the place of that of the kubeconfig.
void impersonate(Json& user, const kube::ConfigOverrides& overrides) {
  if (!overrides.as.empty()) user["as"] = overrides.as;
  if (!overrides.as_uid.empty()) user["as-uid"] = overrides.as_uid;
  if (!overrides.as_groups.empty()) user["as-groups"] = overrides.as_groups;
}

}  // namespace

Result<Json> hub_user_entry(Context& context) {
  // Whether the entry may be used (its plugin's policy, its certificates) is judged where the connection is made.
  FLEETADM_TRY(const kube::RestConfig config, context.rest_config());
  const kube::ConfigOverrides& overrides = context.global().config;
  Json user = Json::object();
  if (config.name == kube::kInClusterName) {
    const std::string folder = context.env("FLEETADM_SERVICEACCOUNT_DIR");
    user["tokenFile"] = (folder.empty() ? kAccountFolder : folder) + "/token";
  } else {
    FLEETADM_TRY(const kube::Kubeconfig kubeconfig, kube::Kubeconfig::load(overrides));
    const std::string context_name = overrides.context.empty() ? kubeconfig.current_context() : overrides.context;
    const Json* entry = entry_named(kubeconfig.document(), "contexts", "context", context_name);
    const std::string name = entry == nullptr ? "" : str(*entry, {"user"});
    const Json* found = entry_named(kubeconfig.document(), "users", "user", name);
    if (found != nullptr) user = *found;
  }
  impersonate(user, overrides);
  return user;
}

Json member_cluster_entry(const kube::RestConfig& member) {
  Json entry = {{"server", member.server}, {"certificate-authority-data", base64_encode(member.ca_data)}};
  if (!member.proxy_url.empty()) entry["proxy-url"] = member.proxy_url;
  return entry;
}

}  // namespace fleetadm::commands
