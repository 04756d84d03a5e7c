#include "core/gateway/push_grants.h"

#include <utility>

#include "core/api/kinds.h"
#include "core/proxy/hub/impersonation.h"

namespace fleetadm::gateway {
namespace {

constexpr auto kGrantsPatience = std::chrono::seconds(5);

void drop_annotations(Json& work) { erase_at(work, {"metadata", "annotations"}); }

}  // namespace

PushGrants::~PushGrants() {
  const std::lock_guard lock(beginning_);
  if (works_) works_->stop();
}

void PushGrants::begin() {
  const std::lock_guard lock(beginning_);
  if (works_) return;
  kube::InformerOptions options;
  options.field_selector = "metadata.name=" + std::string(proxy::kPushImpersonationWork);
  options.project = drop_annotations;
  works_ = kube::Informer::make(hub_, api::manifest_works(), std::move(options));
  works_->on_event([this](kube::EventType, const kube::CachedPtr& before, const kube::CachedPtr& after) {
    const std::string cluster = kube::split_key((after ? after : before)->key()).ns;
    auto granted = after ? std::make_shared<const proxy::Impersonation>(proxy::granted_by_work(after->decode())) : nullptr;
    const std::lock_guard of_granted(mutex_);
    if (granted) {
      granted_[cluster] = std::move(granted);
    } else {
      granted_.erase(cluster);
    }
  });
  works_->start();
}

void PushGrants::wait_known(const std::stop_token& stop) const {
  std::shared_ptr<kube::Informer> works;
  {
    const std::lock_guard lock(beginning_);
    works = works_;
  }
  if (works) static_cast<void>(works->wait_synced(kGrantsPatience, stop));
}

std::shared_ptr<const proxy::Impersonation> PushGrants::of(std::string_view cluster) const {
  const std::lock_guard lock(mutex_);
  const auto found = granted_.find(cluster);
  return found == granted_.end() ? nullptr : found->second;
}

}  // namespace fleetadm::gateway
