// Which packets make sense when: the connections of one stream of packets, from the side that did not number them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/proxy/konnectivity/packet.h"
#include "kubeclient/base/result.h"

namespace fleetadm::konnectivity {

/// The reason of an Error: the server is there, and does not connect to the target (no agent announces it, or its agent fails).
inline constexpr const char* kDialRefused = "DialRefused";

/// The one connection that a client's stream carries. Not thread-safe.
class ClientConnection {
 public:
  enum class State { kDialing, kOpen, kClosed };
  enum class Event { kNothing, kOpened, kData, kClosed };

  /// `random`: the dial's number, which the answer repeats.
  ClientConnection(std::string address, std::int64_t random) : address_(std::move(address)), random_(random) {}

  /// The first packet to send.
  Packet dial() const;
  /// What a packet means. kUnavailable: the target cannot be reached, or the connection broke; kInvalid: the peer does not keep
  /// the protocol (data before the dial's answer, another connection's packets, a second answer). After an Error it is closed.
  Result<Event> take(const Packet& packet);
  /// Only while it is open.
  Packet data(std::string bytes) const;
  /// What tells the peer that it is over: of a dial that was given up, too. Closed from then on.
  Packet close();

  State state() const { return state_; }

 private:
  Result<Event> take_open(const Packet& packet);

  const std::string address_;
  const std::int64_t random_;
  std::int64_t connection_ = 0;
  State state_ = State::kDialing;
};

}  // namespace fleetadm::konnectivity
