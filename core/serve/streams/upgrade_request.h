// Which protocol an exec, attach or port-forward goes on with (docs/reference/kubernetes-streams.md#subprotocols).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/serve/http/message.h"
#include "kubeclient/stream/channels.h"

namespace fleetadm::serve {

using kube::kChannelsV4;
using kube::kChannelsV5;
using kube::kForwarding;
using kube::kTunnelledForwarding;

struct UpgradeChoice {
  bool websocket = false;  // else SPDY/3.1
  std::string protocol;    // empty: refused
  HttpResponse answer;     // 101 without its streams, or the refusal
};

/// The request asks for a WebSocket or for SPDY/3.1.
bool asks_stream_upgrade(const HttpRequest& request);
/// The first protocol that the client offers of those that there are for its kind of connection.
UpgradeChoice choose_upgrade(const HttpRequest& request, const std::vector<std::string_view>& websocket_protocols,
                             std::string_view spdy_protocol);

}  // namespace fleetadm::serve
