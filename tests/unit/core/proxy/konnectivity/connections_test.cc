#include "core/proxy/konnectivity/connections.h"

#include <gtest/gtest.h>

namespace fleetadm::konnectivity {
namespace {

using Event = ClientConnection::Event;
using State = ClientConnection::State;

constexpr std::int64_t kDial = 42;

Packet answer(std::int64_t connection) { return {.type = PacketType::kDialResponse, .random = kDial, .connection = connection}; }
Packet data(std::int64_t connection) { return {.type = PacketType::kData, .connection = connection, .data = "x"}; }

ClientConnection open_connection() {
  ClientConnection connection("c1:443", kDial);
  EXPECT_EQ(connection.take(answer(7)).value(), Event::kOpened);
  return connection;
}

TEST(ClientConnection, DialsCarriesAndCloses) {
  ClientConnection connection("c1:443", kDial);
  EXPECT_EQ(connection.dial(),
            (Packet{.type = PacketType::kDialRequest, .protocol = "tcp", .address = "c1:443", .random = kDial}));
  EXPECT_EQ(connection.take(answer(7)).value(), Event::kOpened);
  EXPECT_EQ(connection.take(data(7)).value(), Event::kData);
  EXPECT_EQ(connection.data("out"), (Packet{.type = PacketType::kData, .connection = 7, .data = "out"}));
  EXPECT_EQ(connection.take({.type = PacketType::kCloseResponse, .connection = 7}).value(), Event::kClosed);
  EXPECT_EQ(connection.state(), State::kClosed);
  EXPECT_EQ(connection.take(data(7)).value(), Event::kNothing);
}

TEST(ClientConnection, SaysWhyTheTargetCannotBeReached) {
  ClientConnection connection("c1:443", kDial);
  Packet refusal = answer(0);
  refusal.error = "No agent available";
  const auto event = connection.take(refusal);
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().category, Category::kUnavailable);
  EXPECT_EQ(event.error().message, "cannot reach c1:443 through konnectivity: No agent available");
  EXPECT_EQ(connection.state(), State::kClosed);
}

TEST(ClientConnection, TakesNothingBeforeItsOwnAnswer) {
  Packet of_another = answer(7);
  of_another.random = kDial + 1;
  const Packet early[] = {data(0),
                          data(7),
                          {.type = PacketType::kCloseResponse, .connection = 7},
                          of_another,
                          {.type = PacketType::kDialRequest, .protocol = "tcp", .address = "a:1"}};
  for (const Packet& packet : early) {
    ClientConnection connection("c1:443", kDial);
    const auto event = connection.take(packet);
    ASSERT_FALSE(event) << to_string(packet.type);
    EXPECT_EQ(event.error().category, Category::kInvalid);
    EXPECT_EQ(connection.state(), State::kClosed);
  }
}

TEST(ClientConnection, TakesNoPacketsOfOtherConnections) {
  for (const Packet& packet : {data(8), Packet{.type = PacketType::kCloseResponse, .connection = 8}, answer(7), answer(8)}) {
    ClientConnection connection = open_connection();
    const auto event = connection.take(packet);
    ASSERT_FALSE(event) << to_string(packet.type);
    EXPECT_EQ(event.error().category, Category::kInvalid);
  }
}

TEST(ClientConnection, BreaksWithTheErrorOfItsData) {
  ClientConnection connection = open_connection();
  const auto event = connection.take({.type = PacketType::kData, .connection = 7, .error = "reset by peer"});
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().category, Category::kUnavailable);
}

TEST(ClientConnection, GivesUpADialByItsNumberAndAConnectionByIts) {
  ClientConnection dialing("c1:443", kDial);
  EXPECT_EQ(dialing.close(), (Packet{.type = PacketType::kDialClose, .random = kDial}));
  ClientConnection open = open_connection();
  EXPECT_EQ(open.close(), (Packet{.type = PacketType::kCloseRequest, .connection = 7}));
  EXPECT_EQ(open.state(), State::kClosed);
}

TEST(ClientConnection, IgnoresWhatLaterVersionsSay) {
  ClientConnection connection("c1:443", kDial);
  EXPECT_EQ(connection.take({.type = PacketType::kOther}).value(), Event::kNothing);
  EXPECT_EQ(connection.state(), State::kDialing);
}

}  // namespace
}  // namespace fleetadm::konnectivity
