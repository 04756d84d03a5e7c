// The body of an answer that comes on a stream of a tunnel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "core/proxy/hop/held_body.h"

namespace fleetadm::proxy {

/// I/O thread only. What the tunnel's flow control lets come is held.
class TunnelBody final : public HeldBody {
 public:
  /// The tunnel it comes from. It calls nothing back at once.
  class Source {
   public:
    virtual ~Source() = default;
    /// So much was read, and the agent may send as much again.
    virtual void consumed(std::int32_t stream, std::size_t bytes) = 0;
    /// Nobody reads it any more. The stream may be over.
    virtual void dropped(std::int32_t stream) = 0;
    /// After an upgrade:
    virtual void send(std::int32_t stream, std::string_view bytes) = 0;
    virtual bool can_send(std::int32_t stream) const = 0;
  };

  TunnelBody(std::weak_ptr<Source> source, std::int32_t stream) : source_(std::move(source)), stream_(stream) {}
  ~TunnelBody() override;

  bool takes() const override;

 private:
  void was_read(std::size_t bytes) override;
  bool send(std::string_view bytes) override;

  std::weak_ptr<Source> source_;
  const std::int32_t stream_;
};

}  // namespace fleetadm::proxy
