// Which protocol an exec, attach or port-forward goes on with (docs/reference/kubernetes-streams.md#subprotocols).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/serve/http/message.h"

namespace fleetadm::serve {

inline constexpr std::string_view kChannelsV5 = "v5.channel.k8s.io";
inline constexpr std::string_view kChannelsV4 = "v4.channel.k8s.io";
inline constexpr std::string_view kForwarding = "portforward.k8s.io";
inline constexpr std::string_view kTunnelledForwarding = "SPDY/3.1+portforward.k8s.io";

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
