#include "core/registration/agent/pod_watch.h"

#include <utility>

namespace fleetadm::registration::agent {

PodWatch::PodWatch(kube::Client cluster, std::function<void()> synced)
    : cluster_(std::move(cluster)), synced_(std::move(synced)), sums_(std::make_shared<PodSums>()) {}

PodWatch::~PodWatch() {
  if (pods_) pods_->stop();
}

void PodWatch::begin() {
  if (pods_) return;
  kube::InformerOptions options;
  options.project = project_pod;
  pods_ = kube::Informer::make(cluster_, kube::resources::pods(), std::move(options));
  pods_->on_event([sums = sums_](kube::EventType, const kube::CachedPtr& before, const kube::CachedPtr& after) {
    sums->take(before, after);
  });
  // By then each of them has been counted: the informer itself says so before.
  pods_->on_synced([counted = counted_, synced = synced_] {
    *counted = true;
    if (synced) synced();
  });
  pods_->start();
}

std::optional<PodSums::Sums> PodWatch::sums() const {
  if (!*counted_) return std::nullopt;
  return sums_->sums();
}

std::optional<std::uint64_t> PodWatch::revision() const {
  if (!*counted_) return std::nullopt;
  return sums_->revision();
}

}  // namespace fleetadm::registration::agent
