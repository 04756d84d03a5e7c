// The way to a member's API server, step by step: each hop takes a request's head and body, and gives the answer's.
#pragma once

#include <functional>
#include <memory>

#include "core/serve/http/message.h"
#include "kubeclient/base/result.h"

namespace fleetadm::proxy {

/// Where requests go on: an API server (http1_hop.h), or a cluster's tunnel.
class Hop {
 public:
  /// An answer of any status, or an Error where none came: kUnavailable (no connection, or it broke), kTimeout, kTls, kCancelled
  /// (the client has left).
  using Done = std::function<void(Result<serve::HttpResponse>)>;

  virtual ~Hop() = default;
  /// I/O thread only; never blocks. `request.path` and `query` go on byte for byte. The body is `request.body`, or what
  /// `request.content` gives, which is read no faster than the next hop takes it. `done` is called once, on the I/O thread, with
  /// the answer's head, maybe from within send(); the answer's body is its `stream`, which holds a bounded part, and which ends
  /// the exchange when it is dropped, or where all of it has come with the head, its `body`. Until then, `request.left` ends it.
  ///
  /// A request whose head asks for an upgrade (connection: upgrade) may be answered with 101; then `upgrade` and `stream` of the
  /// answer are the bytes of the other protocol.
  virtual void send(serve::HttpRequest request, Done done) = 0;
};

}  // namespace fleetadm::proxy
