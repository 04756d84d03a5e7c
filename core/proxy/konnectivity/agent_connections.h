// What an agent's stream of packets asks for: dials, and the connections that came of them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "core/proxy/konnectivity/packet.h"

namespace fleetadm::konnectivity {

/// The side that numbers connections, from 1; no number is used twice. Not thread-safe.
class AgentConnections {
 public:
  struct Event {
    enum class Kind { kNothing, kDial, kGiveUp, kData, kClose };
    Kind kind = Kind::kNothing;
    std::optional<Packet> answer;  // to be sent at once
  };

  /// `most`: dials and connections at a time; more are refused.
  explicit AgentConnections(std::size_t most) : most_(most) {}

  /// What a packet of the server means. What concerns no dial or connection that there is means nothing: it may have been on its
  /// way, or be made up. A close is answered, and then the connection is gone.
  Event take(const Packet& packet);
  /// A dial is over, and its answer; nothing where it was given up. The answer has the connection's number.
  std::optional<Packet> connected(std::int64_t random);
  std::optional<Packet> failed(std::int64_t random, std::string error);
  /// A connection is over on this side; nothing where it was already.
  std::optional<Packet> closed(std::int64_t connection, std::string error = {});

  bool has(std::int64_t connection) const { return open_.contains(connection); }
  std::size_t size() const { return dials_.size() + open_.size(); }

 private:
  Event dial(const Packet& packet);

  const std::size_t most_;
  std::int64_t last_ = 0;
  std::set<std::int64_t> dials_;  // by their random numbers
  std::set<std::int64_t> open_;
};

}  // namespace fleetadm::konnectivity
