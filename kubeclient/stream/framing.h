// The bytes of a protocol on an upgraded connection: as they are, or inside a WebSocket's binary messages, whose edges mean
// nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kubeclient/stream/role.h"

namespace fleetadm::kube {

class Framing {
 public:
  virtual ~Framing() = default;
  /// `take` answers false where it wants no more. False: nothing more comes of this connection.
  virtual bool feed(std::string_view bytes, const std::function<bool(std::string_view)>& take) = 0;
  /// Takes all of `inner` along.
  virtual void send(std::string& inner) = 0;
  /// Nothing more will be sent.
  virtual void finish() = 0;
  virtual std::string& output() = 0;
};

std::unique_ptr<Framing> make_plain_wire();
std::unique_ptr<Framing> make_websocket_wire(StreamRole role = StreamRole::kServer);

}  // namespace fleetadm::kube
