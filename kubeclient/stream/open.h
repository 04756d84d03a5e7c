// How the streams of a pod begin: the upgrade, and the protocol that both ends know.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/transport/upgrade.h"

namespace fleetadm::kube {

struct OpenedStream {
  std::string protocol;  // that the server chose of those offered
  std::unique_ptr<UpgradedConnection> connection;
};

/// By WebSocket (GET). The server's accept key and its choice of protocol are checked. A refusal is an Error with its status and
/// the server's words.
Result<OpenedStream> open_websocket(const RestConfig& config, Request request, const std::vector<std::string_view>& protocols);
/// By SPDY/3.1 (POST).
Result<OpenedStream> open_spdy(const RestConfig& config, Request request, std::string_view protocol);

}  // namespace fleetadm::kube
