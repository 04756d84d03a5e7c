// A connection's bytes on a socket that does not block, plain or under TLS.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "core/serve/http/message.h"

namespace fleetadm::serve {

class TlsStream;  // http/tls_stream.h

/// I/O thread only. The socket is the caller's, and stays open for as long as this is used.
class SocketStream {
 public:
  /// What a step did, or what has to come first.
  enum class Step { kDone, kWaitsToRead, kWaitsToWrite, kEnded };
  struct Moved {
    Step step = Step::kEnded;
    std::size_t bytes = 0;  // that were moved; of a write, also where the rest has to wait
  };

  virtual ~SocketStream() = default;
  virtual Step handshake() = 0;
  virtual Moved read(std::span<char> into) = 0;
  /// Part of it may be taken; the rest may stand elsewhere the next time. Where it waits, it is called again, also without a
  /// rest: what was taken may not have been sent yet.
  virtual Moved write(std::string_view bytes) = 0;
  /// After the handshake: the client wants HTTP/2.
  virtual bool http2() const = 0;
  /// After the handshake: the client by its certificate.
  virtual Peer peer() const = 0;
  /// Nobody asks any more who it is.
  virtual void forget_peer() {}
  /// Itself, where it is one.
  virtual const TlsStream* tls() const { return nullptr; }
};

/// HTTP/1.1 as it is.
std::unique_ptr<SocketStream> make_plain_stream(int socket);

}  // namespace fleetadm::serve
