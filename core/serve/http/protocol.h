// One connection's protocol without its socket: bytes in, bytes out. HTTP/1.1 and HTTP/2 stand side by side behind it; the server
// picks one by ALPN. All calls come from the I/O thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/serve/http/memory_budget.h"
#include "core/serve/http/upgrade.h"
#include "kubeclient/http2/keep_alive.h"

namespace fleetadm::serve {

/// What a protocol needs of its connection.
struct ProtocolHost {
  HttpHandler handle;
  /// The bodies of such requests are streamed (HttpRequest::content). Null: of none.
  std::function<bool(const HttpRequest& head)> streams_body = nullptr;
  std::shared_ptr<const Peer> peer;
  /// There may be output. Safe on any thread and after the connection is gone.
  std::function<void()> flush;
  /// Runs a function on the I/O thread. Safe on any thread and after the connection is gone (then it does nothing).
  std::function<void(std::function<void()>)> post;
  /// For upgraded streams, while the connection lives.
  WatchDescriptor watch;
  HttpLimits limits;
  std::shared_ptr<MemoryBudget> room = nullptr;   // null: as much as comes
  kube::KeepAliveTimes keep_alive = {};           // HTTP/2 only
  std::uint32_t frame = 16384;                    // HTTP/2 only: the largest that is taken; peers may send so much anyway
  std::function<void()> told_to_leave = nullptr;  // HTTP/2 only: the client asks nothing more on this connection (GOAWAY)
};

class Protocol {
 public:
  virtual ~Protocol() = default;
  /// False: send what is left and close.
  virtual bool feed(std::string_view bytes) = 0;
  /// False: nothing is to be fed until output was asked for again.
  virtual bool wants_input() const { return true; }
  /// Appends what is to be sent, up to about `most` bytes. Called when the socket can take more, so a slow client stops the
  /// streams that it reads.
  virtual void output(std::string& into, std::size_t most) = 0;
  /// Nothing more will come: close once all output is sent.
  virtual bool finished() const = 0;
  /// Requests that are being answered (an idle connection may be closed).
  virtual bool busy() const = 0;
  /// Part of a request has arrived, and the rest has not.
  virtual bool receiving() const = 0;
  /// How many requests are there.
  virtual std::size_t streams() const { return busy() ? 1 : 0; }
  /// Every half second or so. False: the other end is gone, and the connection closes at once.
  virtual bool tick(std::chrono::steady_clock::time_point /*now*/) { return true; }
  /// No more requests: what runs goes on, and then it is finished.
  virtual void drain() {}
  /// The connection has closed. The last call.
  virtual void gone() {}
};

class SocketStream;  // http/socket_stream.h
/// What is spoken once the handshake is done. Null: nothing, and the connection closes. The stream tells of its peer until then.
using MakeProtocol = std::function<std::shared_ptr<Protocol>(ProtocolHost host, const SocketStream& stream)>;

std::shared_ptr<Protocol> make_http1(ProtocolHost host);
std::shared_ptr<Protocol> make_http2(ProtocolHost host);

}  // namespace fleetadm::serve
