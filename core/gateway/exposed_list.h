// The ConfigMap of the services that may be reached through the gateway, as it is on the hub.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/controller/controller.h"
#include "core/proxy/rules/exposed_services.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::gateway {

/// Thread-safe. Nothing is exposed where there is no ConfigMap, and until it was read.
class ExposedList {
 public:
  /// Before the manager starts. `read` is called whenever the list, or what is wrong with it, may be another.
  ExposedList(controller::Manager& manager, const kube::Client& hub, const std::string& ns, std::function<void()> read);

  bool allows(std::string_view cluster, const proxy::ServiceTarget& service) const;
  /// Why the list that is there now cannot be read; the last one that could stays in use. Empty: it is the one in use.
  std::string problem() const;

 private:
  void take(const kube::CachedPtr& config_map);

  const std::function<void()> read_;
  std::shared_ptr<kube::Informer> config_maps_;
  mutable std::mutex mutex_;
  proxy::ExposedServices services_;
  std::string problem_;
};

}  // namespace fleetadm::gateway
