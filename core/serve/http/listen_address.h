// Where a program is told to listen, as its flags say it.
#pragma once

#include <string>

#include "kubeclient/base/result.h"

namespace fleetadm::serve {

struct ListenAddress {
  std::string host;  // an IP address
  int port = 0;      // 0: any free one

  bool is_loopback() const;
};

/// "127.0.0.1:8080", "[::1]:0", "localhost:8080", ":8080" (all addresses). kUsage for what has no port.
Result<ListenAddress> parse_listen_address(const std::string& text);

}  // namespace fleetadm::serve
