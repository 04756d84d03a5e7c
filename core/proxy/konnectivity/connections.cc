#include "core/proxy/konnectivity/connections.h"

#include <utility>

namespace fleetadm::konnectivity {
namespace {

constexpr std::size_t kMostErrorBytes = 1024;  // of a peer's text that is handed on

tl::unexpected<Error> out_of_place(const Packet& packet, std::string_view when) {
  return fail(Category::kInvalid, "the konnectivity peer sent " + std::string(to_string(packet.type)) + " " + std::string(when));
}

tl::unexpected<Error> no_dial(std::string message) {
  return fail(Error{.category = Category::kUnavailable, .message = std::move(message), .reason = kDialRefused});
}

}  // namespace

Packet ClientConnection::dial() const {
  return {.type = PacketType::kDialRequest, .protocol = "tcp", .address = address_, .random = random_};
}

Result<ClientConnection::Event> ClientConnection::take(const Packet& packet) {
  if (packet.type == PacketType::kOther || packet.type == PacketType::kDrain) return Event::kNothing;
  if (state_ == State::kClosed) return Event::kNothing;  // it was on its way
  auto event = [&]() -> Result<Event> {
    if (state_ == State::kOpen) return take_open(packet);
    if (packet.type == PacketType::kDialClose && packet.random == random_)
      return no_dial("the konnectivity peer gave up dialing " + address_);
    if (packet.type != PacketType::kDialResponse) return out_of_place(packet, "before the answer to the dial");
    if (packet.random != random_) return out_of_place(packet, "for another dial");
    if (!packet.error.empty())
      return no_dial("cannot reach " + address_ + " through konnectivity: " + packet.error.substr(0, kMostErrorBytes));
    connection_ = packet.connection;
    state_ = State::kOpen;
    return Event::kOpened;
  }();
  if (!event) state_ = State::kClosed;
  return event;
}

Result<ClientConnection::Event> ClientConnection::take_open(const Packet& packet) {
  switch (packet.type) {
    case PacketType::kData:
    case PacketType::kCloseRequest:
    case PacketType::kCloseResponse: break;
    default: return out_of_place(packet, "on an open connection");
  }
  if (packet.connection != connection_) return out_of_place(packet, "for another connection");
  if (!packet.error.empty())
    return fail(Category::kUnavailable, "the connection to " + address_ + " broke: " + packet.error.substr(0, kMostErrorBytes));
  if (packet.type == PacketType::kData) return Event::kData;
  state_ = State::kClosed;
  return Event::kClosed;
}

Packet ClientConnection::data(std::string bytes) const {
  return {.type = PacketType::kData, .connection = connection_, .data = std::move(bytes)};
}

Packet ClientConnection::close() {
  const bool was_dialing = std::exchange(state_, State::kClosed) == State::kDialing;
  if (was_dialing) return {.type = PacketType::kDialClose, .random = random_};
  return {.type = PacketType::kCloseRequest, .connection = connection_};
}

}  // namespace fleetadm::konnectivity
