// The agent's side of a konnectivity server's tunnel: a stream of packets that carries all connections to the agent's targets.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/proxy/hop/local_pipe.h"
#include "core/proxy/konnectivity/agent_connections.h"
#include "core/proxy/konnectivity/packet_stream.h"

namespace fleetadm::konnectivity {

/// Who takes connections: the address as it was dialed ("host:port"), and the target's end of the connection, which behaves like
/// a socket. An Error refuses it; its message goes to the client. On the I/O thread; must not block.
using Accept = std::function<Status(const std::string& address, boost::asio::ip::tcp::socket socket)>;

/// How a server presents itself.
struct ServerGreeting {
  std::string id;           // of this replica
  std::size_t servers = 1;  // replicas; clients may ask any of them
};
using Greeted = std::function<void(const ServerGreeting&)>;

/// I/O thread only. The protocol has no credit per connection: a target that takes less than what comes for it loses its
/// connection when kMostHeld waits for it, so that it holds up no other.
class AgentStream final : public PacketStream, public std::enable_shared_from_this<AgentStream> {
 public:
  static constexpr std::size_t kMostHeld = std::size_t{8} * 1024 * 1024;
  static constexpr std::size_t kMostConnections = 1000;

  /// `identifiers`: what it announces, URL-encoded ("host=c1&host=c2").
  AgentStream(serve::ProtocolHost host, boost::asio::any_io_executor executor, const std::string& authority,
              const std::string& agent_id, const std::string& identifiers, Accept accept, Greeted greeted,
              std::function<void(const Error&)> ended);

  /// No new connections: the server is told to prefer other agents.
  void drain() override;

 private:
  void take(const Packet& packet) override;
  bool is_full() const override { return false; }
  void has_room() override;
  void begun(const serve::Headers& metadata) override;
  void ended(const Error& why) override;
  void dial(const Packet& packet);
  void close(std::int64_t connection, std::string why);

  boost::asio::any_io_executor executor_;
  Accept accept_;
  Greeted greeted_;
  std::function<void(const Error&)> ended_;
  AgentConnections connections_{kMostConnections};
  std::map<std::int64_t, std::shared_ptr<proxy::LocalPipe>> pipes_;
};

}  // namespace fleetadm::konnectivity
