#include "core/proxy/hop/held_body.h"

namespace fleetadm::proxy {

serve::BodyStream::More HeldBody::read(std::string& into, std::size_t most) {
  if (size() == 0) return end_;
  was_read(held_.take(into, most));
  return More::kYes;
}

void HeldBody::wake() const {
  if (!wake_) return;
  const auto wake = wake_;  // it may replace itself
  wake();
}

}  // namespace fleetadm::proxy
