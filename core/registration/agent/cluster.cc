#include "core/registration/agent/cluster.h"

#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/log.h"

namespace fleetadm::registration::agent {
namespace {

constexpr std::string_view kAnnotationPrefix = "agent.open-cluster-management.io";

Json client_configs(const ClusterOptions& options) {
  Json configs = Json::array();
  for (const std::string& url : options.external_urls) {
    Json config = {{"url", url}};
    if (!options.ca_pem.empty()) config["caBundle"] = base64_encode(options.ca_pem);
    configs.push_back(std::move(config));
  }
  return configs;
}

}  // namespace

Json managed_cluster_object(const ClusterOptions& options) {
  Json object = {{"apiVersion", api::managed_clusters().api_version()},
                 {"kind", api::managed_clusters().kind},
                 {"metadata", {{"name", options.name}}},
                 {"spec", {{"hubAcceptsClient", false}}}};
  for (const auto& [key, value] : options.labels) at_or_make(object, {"metadata", "labels"})[key] = value;
  for (const auto& [key, value] : options.annotations) {
    if (key.starts_with(kAnnotationPrefix)) at_or_make(object, {"metadata", "annotations"})[key] = value;
  }
  if (!options.external_urls.empty()) at_or_make(object, {"spec"})["managedClusterClientConfigs"] = client_configs(options);
  return object;
}

Status ensure_managed_cluster(const kube::Client& hub, const ClusterOptions& options) {
  FLEETADM_TRY(const std::optional<Json> found, hub.find(api::managed_clusters(), {}, options.name));
  if (!found) {
    FLEETADM_CHECK(hub.create_or_get(api::managed_clusters(), {}, managed_cluster_object(options)).map([](const Json&) {}));
    log::info(1, "registration", "managed cluster " + options.name + " created on the hub");
    return {};
  }
  // Without addresses of our own we have no say: an administrator may have written some.
  const bool same = list_at(*found, {"spec", "managedClusterClientConfigs"}).size() == options.external_urls.size();
  if (same || options.external_urls.empty()) return {};
  Json changed = *found;
  at_or_make(changed, {"spec"})["managedClusterClientConfigs"] = client_configs(options);
  return hub.update(api::managed_clusters(), changed).map([](const Json&) {});
}

}  // namespace fleetadm::registration::agent
