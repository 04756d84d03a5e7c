#include "core/proxy/tunnel/tunnel_body.h"

#include <algorithm>
#include <utility>

namespace fleetadm::proxy {
namespace {

constexpr std::size_t kMoved = std::size_t{64} * 1024;  // what was read before this is given back

}  // namespace

TunnelBody::~TunnelBody() {
  if (const auto source = source_.lock()) source->dropped(stream_);
}

serve::BodyStream::More TunnelBody::read(std::string& into, std::size_t most) {
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
  if (const auto source = source_.lock()) source->consumed(stream_, count);
  return More::kYes;
}

bool TunnelBody::take(std::string_view bytes) {
  const auto source = source_.lock();
  if (!source || end_ != More::kLater) return false;
  source->send(stream_, bytes);
  return true;
}

bool TunnelBody::takes() const {
  const auto source = source_.lock();
  return !source || source->can_send(stream_);
}

void TunnelBody::wake() const {
  if (!wake_) return;
  const auto wake = wake_;  // it may replace itself
  wake();
}

}  // namespace fleetadm::proxy
