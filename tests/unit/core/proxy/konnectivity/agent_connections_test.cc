#include "core/proxy/konnectivity/agent_connections.h"

#include <gtest/gtest.h>

namespace fleetadm::konnectivity {
namespace {

using Kind = AgentConnections::Event::Kind;

Packet dial_of(std::int64_t random) {
  return {.type = PacketType::kDialRequest, .protocol = "tcp", .address = "c1:443", .random = random};
}
Packet data_of(std::int64_t connection) { return {.type = PacketType::kData, .connection = connection, .data = "x"}; }

TEST(AgentConnections, NumbersConnectionsAndNeverUsesANumberTwice) {
  AgentConnections connections(10);
  EXPECT_EQ(connections.take(dial_of(70)).kind, Kind::kDial);
  EXPECT_EQ(connections.connected(70), (Packet{.type = PacketType::kDialResponse, .random = 70, .connection = 1}));
  EXPECT_EQ(connections.take(data_of(1)).kind, Kind::kData);
  EXPECT_EQ(connections.closed(1), (Packet{.type = PacketType::kCloseResponse, .connection = 1}));
  EXPECT_EQ(connections.closed(1), std::nullopt);
  connections.take(dial_of(70));
  EXPECT_EQ(connections.connected(70)->connection, 2);
}

TEST(AgentConnections, TakesNothingForConnectionsThatThereAreNot) {
  AgentConnections connections(10);
  EXPECT_EQ(connections.take(data_of(0)).kind, Kind::kNothing);  // before any dial
  connections.take(dial_of(70));
  EXPECT_EQ(connections.take(data_of(1)).kind, Kind::kNothing);  // before its answer
  connections.connected(70);
  const auto closed = connections.take({.type = PacketType::kCloseRequest, .connection = 1});
  EXPECT_EQ(closed.kind, Kind::kClose);
  EXPECT_EQ(closed.answer, (Packet{.type = PacketType::kCloseResponse, .connection = 1}));
  EXPECT_EQ(connections.take(data_of(1)).kind, Kind::kNothing);  // after its end
  EXPECT_EQ(connections.take({.type = PacketType::kCloseRequest, .connection = 1}).kind, Kind::kNothing);
  EXPECT_EQ(connections.size(), 0U);
}

TEST(AgentConnections, RefusesWhatItCannotDial) {
  AgentConnections connections(1);
  Packet other = dial_of(70);
  other.protocol = "udp";
  const auto refused = connections.take(other);
  EXPECT_EQ(refused.kind, Kind::kNothing);
  ASSERT_TRUE(refused.answer);
  EXPECT_EQ(refused.answer->error, "only tcp is dialed");
  EXPECT_EQ(connections.take(dial_of(71)).kind, Kind::kDial);
  EXPECT_FALSE(connections.take(dial_of(71)).answer);  // the same dial again
  const auto full = connections.take(dial_of(72));
  EXPECT_EQ(full.kind, Kind::kNothing);
  EXPECT_EQ(full.answer->error, "too many connections");
  EXPECT_EQ(connections.failed(71, "no")->error, "no");
  EXPECT_EQ(connections.size(), 0U);
}

TEST(AgentConnections, ADialThatIsGivenUpGetsNoAnswer) {
  AgentConnections connections(10);
  connections.take(dial_of(70));
  EXPECT_EQ(connections.take({.type = PacketType::kDialClose, .random = 71}).kind, Kind::kNothing);
  EXPECT_EQ(connections.take({.type = PacketType::kDialClose, .random = 70}).kind, Kind::kGiveUp);
  EXPECT_EQ(connections.connected(70), std::nullopt);
  EXPECT_EQ(connections.failed(70, "no"), std::nullopt);
}

}  // namespace
}  // namespace fleetadm::konnectivity
