#include "core/proxy/hop/held_body.h"

#include <algorithm>

namespace fleetadm::proxy {
namespace {

constexpr std::size_t kMoved = std::size_t{64} * 1024;  // what was read before this is given back

}  // namespace

serve::BodyStream::More HeldBody::read(std::string& into, std::size_t most) {
  const auto count = std::min(most, size());
  if (count == 0) return end_;
  if (begin_ == 0 && count == held_.size() && into.empty()) {
    into.swap(held_);
  } else {
    into.append(held_, begin_, count);
    begin_ += count;
  }
  if (begin_ == held_.size()) {
    held_ = {};  // most streams are quiet
    begin_ = 0;
  } else if (begin_ >= kMoved) {
    held_.erase(0, std::exchange(begin_, 0));
  }
  was_read(count);
  return More::kYes;
}

void HeldBody::wake() const {
  if (!wake_) return;
  const auto wake = wake_;  // it may replace itself
  wake();
}

}  // namespace fleetadm::proxy
