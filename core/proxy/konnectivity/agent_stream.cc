#include "core/proxy/konnectivity/agent_stream.h"

#include <charconv>
#include <system_error>
#include <utility>

namespace fleetadm::konnectivity {

namespace asio = boost::asio;

AgentStream::AgentStream(serve::ProtocolHost host, asio::any_io_executor executor, const std::string& authority,
                         const std::string& agent_id, const std::string& identifiers, Accept accept, Greeted greeted,
                         std::function<void(const Error&)> ended)
    : PacketStream(std::move(host), authority, "/AgentService/Connect",
                   {{"agentid", agent_id}, {"agentidentifiers", identifiers}}),
      executor_(std::move(executor)),
      accept_(std::move(accept)),
      greeted_(std::move(greeted)),
      ended_(std::move(ended)) {}

void AgentStream::begun(const serve::Headers& metadata) {
  ServerGreeting greeting;
  for (const auto& [name, value] : metadata) {
    if (name == "serverid") greeting.id = value;
    if (name != "servercount") continue;
    std::size_t count = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), count);
    if (error == std::errc() && end == value.data() + value.size() && count > 0) greeting.servers = count;
  }
  greeted_(greeting);
}

void AgentStream::drain() {
  if (!over()) say({.type = PacketType::kDrain});
}

void AgentStream::take(const Packet& packet) {
  auto event = connections_.take(packet);
  if (event.answer) say(*event.answer);
  switch (event.kind) {
    case AgentConnections::Event::Kind::kNothing:
    case AgentConnections::Event::Kind::kGiveUp: break;  // dials are over at once
    case AgentConnections::Event::Kind::kDial: dial(packet); break;
    case AgentConnections::Event::Kind::kData: {
      const auto at = pipes_.find(packet.connection);
      if (at == pipes_.end()) break;
      if (at->second->held() + packet.data.size() > kMostHeld) return close(packet.connection, "the target does not read");
      at->second->write(packet.data);
      break;
    }
    case AgentConnections::Event::Kind::kClose:
      if (auto node = pipes_.extract(packet.connection)) node.mapped()->finish();
      break;
  }
}

void AgentStream::dial(const Packet& packet) {
  // The number that the connection will have: it is the answer's.
  const auto number = std::make_shared<std::int64_t>(0);
  const std::weak_ptr<AgentStream> weak = weak_from_this();
  proxy::LocalPipe::Events events;
  events.read = [weak, number](std::string_view bytes) {
    const auto self = weak.lock();
    if (!self || self->over() || !self->connections_.has(*number)) return;
    self->say({.type = PacketType::kData, .connection = *number, .data = std::string(bytes)});
  };
  events.closed = [weak, number] {
    if (const auto self = weak.lock()) self->close(*number, {});
  };
  auto ends = proxy::LocalPipe::make(executor_, std::move(events));
  const Status accepted = ends ? accept_(packet.address, std::move(ends->other)) : Status(fail(ends.error()));
  if (!accepted) {
    if (const auto answer = connections_.failed(packet.random, accepted.error().message)) say(*answer);
    return;
  }
  const auto answer = connections_.connected(packet.random);
  if (!answer) return;
  *number = answer->connection;
  pipes_.emplace(*number, ends->pipe);
  say(*answer);
  ends->pipe->await();
}

void AgentStream::close(std::int64_t connection, std::string why) {
  if (auto node = pipes_.extract(connection)) node.mapped()->finish();
  const auto answer = connections_.closed(connection, std::move(why));
  if (answer && !over()) say(*answer);
}

void AgentStream::has_room() {
  for (const auto& [connection, pipe] : pipes_) pipe->await();
}

void AgentStream::ended(const Error& why) {
  for (const auto& [connection, pipe] : std::exchange(pipes_, {})) pipe->finish();
  if (const auto ended = std::exchange(ended_, nullptr)) ended(why);
}

}  // namespace fleetadm::konnectivity
