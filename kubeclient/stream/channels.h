// The channels of exec and attach, and the names of the protocols that carry them and port-forwards
// (docs/reference/kubernetes-streams.md).
#pragma once

#include <cstdint>
#include <string_view>

namespace fleetadm::kube {

enum class Channel : std::uint8_t { kInput = 0, kOutput = 1, kErrors = 2, kStatus = 3, kResize = 4 };
/// v5: what follows it are the channels that a client ends.
inline constexpr std::uint8_t kEndOfChannel = 255;

inline constexpr std::string_view kChannelsV5 = "v5.channel.k8s.io";
inline constexpr std::string_view kChannelsV4 = "v4.channel.k8s.io";
inline constexpr std::string_view kForwarding = "portforward.k8s.io";
inline constexpr std::string_view kTunnelledForwarding = "SPDY/3.1+portforward.k8s.io";

inline constexpr std::string_view kWebSocketUpgrade = "websocket";
inline constexpr std::string_view kSpdyUpgrade = "SPDY/3.1";

}  // namespace fleetadm::kube
