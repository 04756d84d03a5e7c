// What listens where a pod's port is: says everything back, in capitals, and ends when its client has ended.
#pragma once

#include <stop_token>
#include <thread>

#include "kubeclient/base/owned_fd.h"

namespace fleetadm::testkit {

class EchoPort {
 public:
  /// On a port of 127.0.0.1; 0: a free one.
  explicit EchoPort(int port);
  int port() const { return port_; }

 private:
  void serve(const std::stop_token& stop) const;
  OwnedFd socket_;
  int port_ = 0;
  std::jthread thread_;
};

}  // namespace fleetadm::testkit
