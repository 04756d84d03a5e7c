#include "core/agent/runtime.h"

#include <utility>

#include "kubeclient/base/log.h"

namespace fleetadm::agent {

void Phase::set(std::string phase, std::string detail) {
  const std::lock_guard lock(mutex_);
  if (phase == phase_ && detail == detail_) return;
  phase_ = std::move(phase);
  detail_ = std::move(detail);
  log::info(0, "agent", detail_.empty() ? phase_ : phase_ + ": " + detail_);
}

Json Phase::describe() const {
  const std::lock_guard lock(mutex_);
  return {{"phase", phase_}, {"detail", detail_}};
}

void TunnelsView::show(std::function<Json()> describe) {
  const std::lock_guard lock(mutex_);
  describe_ = std::move(describe);
}

Json TunnelsView::describe() const {
  const std::lock_guard lock(mutex_);
  return describe_ ? describe_() : Json();
}

}  // namespace fleetadm::agent
