// Connections that leave HTTP: exec, attach, port-forward. With the credentials, the TLS settings and the proxy of any other
// request to the server.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kubeclient/config/rest_config.h"
#include "kubeclient/transport/transport.h"

namespace fleetadm::kube {

/// Bytes both ways after an answer of 101. One thread at a time. Nothing is read ahead, so a peer that sends faster than it is
/// read waits. The destructor closes the connection.
class UpgradedConnection {
 public:
  virtual ~UpgradedConnection() = default;
  /// Takes as much as can be sent within `patience` (zero: now) and answers how much that was; up to 16 KiB of it may go out with
  /// the next call only (an empty one will do, while unsent() says so). kUnavailable where the peer is gone.
  virtual Result<std::size_t> send(std::string_view bytes, Duration patience) = 0;
  virtual bool unsent() const = 0;
  /// Appends what has come, 64 KiB at most; waits for it up to `patience`. False: nothing came. kUnavailable at the end of the
  /// connection.
  virtual Result<bool> receive(std::string& into, Duration patience) = 0;
  /// For poll(2), once receive() without patience has answered false: decrypted bytes may wait without it.
  virtual int descriptor() const = 0;
};

struct UpgradeAnswer {
  Response response;                               // of 101: without body; of others: its first 64 KiB
  std::unique_ptr<UpgradedConnection> connection;  // null unless the server agreed
};

/// Asks for `protocol` ("websocket", "SPDY/3.1") on a connection of its own, by HTTP/1.1. Blocks, for request.timeout at most.
/// Refused by a 401, it asks once more with fresh credentials where there are any. Any HTTP status is an answer; none is an
/// Error as of Transport::call. The request has no body.
Result<UpgradeAnswer> upgrade_connection(const RestConfig& config, const Request& request, std::string_view protocol);

}  // namespace fleetadm::kube
