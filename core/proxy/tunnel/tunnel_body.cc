#include "core/proxy/tunnel/tunnel_body.h"

namespace fleetadm::proxy {

TunnelBody::~TunnelBody() {
  if (const auto source = source_.lock()) source->dropped(stream_);
}

void TunnelBody::was_read(std::size_t bytes) {
  if (const auto source = source_.lock()) source->consumed(stream_, bytes);
}

bool TunnelBody::send(std::string_view bytes) {
  const auto source = source_.lock();
  if (source) source->send(stream_, bytes);
  return source != nullptr;
}

bool TunnelBody::takes() const {
  const auto source = source_.lock();
  return !source || source->can_send(stream_);
}

}  // namespace fleetadm::proxy
