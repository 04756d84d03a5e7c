#include "core/gateway/exposed_list.h"

#include <utility>

#include "kubeclient/base/log.h"

namespace fleetadm::gateway {
namespace {

constexpr const char* kExposedServices = "cluster-proxy-exposed-services";

}  // namespace

ExposedList::ExposedList(controller::Manager& manager, const kube::Client& hub, const std::string& ns, std::function<void()> read)
    : read_(std::move(read)) {
  kube::InformerOptions options;
  options.ns = ns;
  options.field_selector = std::string("metadata.name=") + kExposedServices;
  config_maps_ = manager.informer(hub, kube::resources::config_maps(), std::move(options));
  config_maps_->on_event([this](kube::EventType, const kube::CachedPtr&, const kube::CachedPtr& after) {
    take(after);
    read_();
  });
}

void ExposedList::take(const kube::CachedPtr& config_map) {
  auto read = config_map ? proxy::ExposedServices::parse(config_map->decode()) : Result<proxy::ExposedServices>();
  const std::lock_guard lock(mutex_);
  if (read) {
    services_ = std::move(*read);
    problem_.clear();
    return;
  }
  problem_ = std::string("ConfigMap ") + kExposedServices + ": " + read.error().message;
  log::warn("gateway", problem_ + "; the last list that could be read stays in use");
}

bool ExposedList::allows(std::string_view cluster, const proxy::ServiceTarget& service) const {
  const std::lock_guard lock(mutex_);
  return services_.allows(cluster, service);
}

std::string ExposedList::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

}  // namespace fleetadm::gateway
