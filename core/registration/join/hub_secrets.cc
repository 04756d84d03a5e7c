#include "core/registration/join/hub_secrets.h"

#include <algorithm>

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/config/kubeconfig.h"

namespace fleetadm::join {
namespace {

constexpr std::string_view kBootstrapFlag = "--bootstrap-secret=";

}  // namespace

std::string bootstrap_kubeconfig(const HubEndpoint& endpoint, const kube::RestConfig& hub) {
  Json kubeconfig = kube::make_kubeconfig(hub.server, hub.ca_data, Json{{"token", endpoint.token}}, "bootstrap");
  if (!endpoint.proxy_url.empty()) kubeconfig["clusters"][0]["cluster"]["proxy-url"] = endpoint.proxy_url;
  return dump_yaml(kubeconfig);
}

Json kubeconfig_secret(std::string_view ns, std::string_view name, std::string_view kubeconfig) {
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata", {{"name", std::string(name)}, {"namespace", std::string(ns)}}},
          {"type", "Opaque"},
          {"data", {{"kubeconfig", base64_encode(kubeconfig)}}}};
}

std::vector<std::string> hub_secret_names(std::string_view first, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= count; ++i) names.push_back(std::string(first) + (i == 1 ? "" : "-" + std::to_string(i)));
  return names;
}

void add_hub_args(const std::vector<std::string>& names, std::vector<std::string>& args) {
  if (names.size() < 2) return;
  const bool told = std::any_of(args.begin(), args.end(), [](const std::string& arg) { return arg.starts_with(kBootstrapFlag); });
  for (std::size_t i = told ? 1 : 0; i < names.size(); ++i) args.push_back(std::string(kBootstrapFlag) + names[i]);
}

Result<std::vector<install::Change>> drop_further_hubs(const kube::Client& client, std::string_view ns, std::string_view first,
                                                       std::size_t kept, std::string_view part) {
  const kube::Resource& type = kube::resources::secrets();
  std::vector<install::Change> changes;
  for (std::size_t i = kept + 1;; ++i) {
    const std::string name = hub_secret_names(first, i).back();
    FLEETADM_TRY(const auto secret, client.find(type, ns, name));
    if (!secret || label_of(*secret, install::kPartLabel) != part) return changes;
    kube::DeleteOptions how;
    how.uid = uid_of(*secret);
    const auto removed = client.remove(type, ns, name, how);
    if (!removed && removed.error().category != Category::kNotFound)
      return fail(removed.error().wrap("cannot delete Secret " + name));
    changes.push_back({type.kind, std::string(ns), name, install::Action::kDeleted, type.group});
  }
}

}  // namespace fleetadm::join
