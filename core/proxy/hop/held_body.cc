#include "core/proxy/hop/held_body.h"

#include <utility>

namespace fleetadm::proxy {
namespace {

constexpr std::size_t kTail = std::size_t{4} * 1024;  // not worth a write of its own: it goes with what is before it

}  // namespace

serve::BodyStream::More HeldBody::read(std::string& into, std::size_t most) {
  if (size() == 0) return end_;
  was_read(held_.take(into, size() < most + kTail ? size() : most));
  return More::kYes;
}

void HeldBody::on_ready(std::function<void()> wake) {
  wake_ = wake ? std::make_shared<const std::function<void()>>(std::move(wake)) : nullptr;
}

void HeldBody::wake() const {
  if (const auto wake = wake_) (*wake)();
}

}  // namespace fleetadm::proxy
