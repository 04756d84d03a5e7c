#include "core/install/webhook_urls.h"

namespace fleetadm::install {

Status keep_webhook_urls(const kube::Client& hub, std::vector<Json>& objects) {
  for (Json& object : objects) {
    if (find(object, {"spec", "conversion", "webhook"}) == nullptr) continue;
    FLEETADM_TRY(const auto live, hub.find(kube::resources::custom_resource_definitions(), "", name_of(object)));
    const std::string url = live ? str(*live, {"spec", "conversion", "webhook", "clientConfig", "url"}) : std::string();
    if (!url.empty()) at_or_make(object, {"spec", "conversion", "webhook", "clientConfig"}) = {{"url", url}};
  }
  return {};
}

}  // namespace fleetadm::install
