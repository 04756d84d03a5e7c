// A TLS connection to a server of this machine, on which a test says what it wants, byte by byte.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kubeclient/base/clock.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::testkit {

class RawClient {
 public:
  /// With a client certificate, if there is one; HTTP/1.1 by ALPN.
  RawClient(int port, const std::string& ca, const pki::KeyPair& who, const std::string& address = "127.0.0.1");
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  /// All of it, within 10 s.
  bool send(std::string_view bytes);
  /// Some more bytes at the end of `into`; false where none came in time, or the server has closed.
  bool receive(std::string& into, Duration patience = std::chrono::seconds(10));
  bool closed() const { return closed_; }
  bool closed_within(Duration patience);
  void close();

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
  bool connected_ = false;
  bool closed_ = false;
};

/// Sends a request head ("GET /x HTTP/1.1\r\n…", without its last empty line); answers the status, and leaves what follows the
/// answer's head in `rest`. 0: no answer.
int send_upgrade(RawClient& client, const std::string& head, std::string& answer_head, std::string& rest);

}  // namespace fleetadm::testkit
