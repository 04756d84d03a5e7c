#include "core/install/pod_settings.h"

namespace fleetadm::install {
namespace {

// The API server's address as the kubelet gives it to every container.
constexpr const char* kWithinCluster = "$(KUBERNETES_SERVICE_HOST),localhost,127.0.0.1,::1,.svc,.cluster.local";

void add_proxy(Json& container, const PodSettings& settings) {
  if (settings.http_proxy.empty() && settings.https_proxy.empty()) return;
  Json& env = at_or_make(container, {"env"});
  if (!env.is_array()) env = Json::array();
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) env.push_back({{"name", name}, {"value", value}});
  };
  add("HTTP_PROXY", settings.http_proxy);
  add("HTTPS_PROXY", settings.https_proxy);
  add("NO_PROXY", kWithinCluster + (settings.no_proxy.empty() ? std::string() : "," + settings.no_proxy));
}

}  // namespace

void set_pod_settings(std::vector<Json>& objects, const PodSettings& settings) {
  for (Json& object : objects) {
    if (str(object, {"kind"}) != "Deployment") continue;
    Json& pod = at_or_make(object, {"spec", "template", "spec"});
    if (!settings.node_selector.empty()) pod["nodeSelector"] = settings.node_selector;
    if (!settings.tolerations.empty()) pod["tolerations"] = settings.tolerations;
    if (!settings.priority_class.empty()) pod["priorityClassName"] = settings.priority_class;
    if (!settings.host_aliases.empty()) pod["hostAliases"] = settings.host_aliases;
    if (!settings.resources.is_null()) {
      at_or_make(object, {"metadata", "annotations", kOwnResources}) = "true";
      for (Json& container : pod["containers"]) container["resources"] = settings.resources;
    }
    for (Json& container : pod["containers"]) add_proxy(container, settings);
  }
}

void annotate_account(std::vector<Json>& objects, std::string_view account, std::string_view key, const std::string& value) {
  for (Json& object : objects) {
    if (str(object, {"kind"}) == "ServiceAccount" && name_of(object) == account)
      at_or_make(object, {"metadata", "annotations"})[std::string(key)] = value;
  }
}

}  // namespace fleetadm::install
