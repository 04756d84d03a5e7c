#include "core/proxy/konnectivity/agent_connections.h"

#include <utility>

namespace fleetadm::konnectivity {

AgentConnections::Event AgentConnections::take(const Packet& packet) {
  switch (packet.type) {
    case PacketType::kDialRequest: return dial(packet);
    case PacketType::kDialClose:
      if (dials_.erase(packet.random) == 0) return {};
      return {.kind = Event::Kind::kGiveUp};
    case PacketType::kData:
      if (!has(packet.connection)) return {};
      return {.kind = Event::Kind::kData};
    case PacketType::kCloseRequest:
    case PacketType::kCloseResponse:
      if (open_.erase(packet.connection) == 0) return {};
      if (packet.type == PacketType::kCloseResponse) return {.kind = Event::Kind::kClose};
      return {.kind = Event::Kind::kClose, .answer = Packet{.type = PacketType::kCloseResponse, .connection = packet.connection}};
    case PacketType::kDialResponse:
    case PacketType::kDrain:
    case PacketType::kOther: break;
  }
  return {};
}

AgentConnections::Event AgentConnections::dial(const Packet& packet) {
  if (dials_.contains(packet.random)) return {};  // an answer would be taken for the other's
  const auto refuse = [&](std::string why) {
    return Event{.answer = Packet{.type = PacketType::kDialResponse, .random = packet.random, .error = std::move(why)}};
  };
  if (packet.protocol != "tcp") return refuse("only tcp is dialed");
  if (size() >= most_) return refuse("too many connections");
  dials_.insert(packet.random);
  return {.kind = Event::Kind::kDial};
}

std::optional<Packet> AgentConnections::connected(std::int64_t random) {
  if (dials_.erase(random) == 0) return std::nullopt;
  open_.insert(++last_);
  return Packet{.type = PacketType::kDialResponse, .random = random, .connection = last_};
}

std::optional<Packet> AgentConnections::failed(std::int64_t random, std::string error) {
  if (dials_.erase(random) == 0) return std::nullopt;
  return Packet{.type = PacketType::kDialResponse, .random = random, .error = std::move(error)};
}

std::optional<Packet> AgentConnections::closed(std::int64_t connection, std::string error) {
  if (open_.erase(connection) == 0) return std::nullopt;
  return Packet{.type = PacketType::kCloseResponse, .connection = connection, .error = std::move(error)};
}

}  // namespace fleetadm::konnectivity
