// What a connection speaks after an answer of 101: bytes in, bytes out. Nothing of sockets.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "core/serve/http/message.h"

namespace fleetadm::serve {

/// Tells when a descriptor can be read or written. It must end before the descriptor is closed. I/O thread only.
class DescriptorWatch {
 public:
  virtual ~DescriptorWatch() = default;
  /// Once each: the connection's output is asked for when the descriptor can be read (written). Asking again meanwhile is
  /// nothing.
  virtual void await_readable() = 0;
  virtual void await_writable() = 0;
};
/// Null where the descriptor cannot be watched: output is asked for twice a second anyway.
using WatchDescriptor = std::function<std::unique_ptr<DescriptorWatch>(int descriptor)>;

/// read() gives what is sent, as it is; kEnd and kCut close the connection. All calls come from the server's I/O thread; they
/// must not block.
class UpgradedStream : public BodyStream {
 public:
  /// The first call: what it reads and writes beside the connection is watched with this.
  virtual void begin(const WatchDescriptor& watch) = 0;
  /// What the client sends. False: nothing more is wanted of it; what read() still gives is sent, and the connection closes.
  virtual bool take(std::string_view bytes) = 0;
  /// False: the client is to wait. Asked again after each read().
  virtual bool takes() const = 0;
};

}  // namespace fleetadm::serve
