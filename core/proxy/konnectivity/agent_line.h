// One stream of an agent's, as the answer to its request: packets both ways, and the connections that they carry.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/proxy/hop/local_pipe.h"
#include "core/proxy/konnectivity/connections.h"
#include "core/proxy/konnectivity/grpc_frames.h"
#include "core/serve/http/body_pipe.h"

namespace fleetadm::konnectivity {

/// I/O thread only. The protocol has no credit per connection: who does not read loses its connection when kMostHeld waits.
class AgentLine final : public serve::BodyStream, public std::enable_shared_from_this<AgentLine> {
 public:
  using Done = std::function<void(Result<boost::asio::ip::tcp::socket>)>;
  static constexpr std::size_t kMostHeld = std::size_t{8} * 1024 * 1024;

  /// `servers`: how many replicas the agent is told of.
  AgentLine(boost::asio::any_io_executor executor, std::shared_ptr<serve::BodyReader> content, std::size_t servers)
      : executor_(std::move(executor)), content_(std::move(content)), servers_(servers) {}
  ~AgentLine() override;

  void dial(const std::string& target, std::chrono::milliseconds patience, Done done);
  bool takes_dials() const { return !draining_ && !over_; }
  std::size_t told_servers() const { return servers_; }
  std::chrono::steady_clock::time_point since() const { return since_; }
  bool idle() const { return dialing_.empty() && open_.empty(); }
  void cut();

  More read(std::string& into, std::size_t most) override;
  void on_ready(std::function<void()> wake) override;

 private:
  struct Dialed {
    explicit Dialed(ClientConnection made) : connection(std::move(made)) {}
    ClientConnection connection;
    Done done;
    std::shared_ptr<proxy::LocalPipe> pipe;
    std::shared_ptr<boost::asio::steady_timer> deadline;
  };
  using DialedPtr = std::shared_ptr<Dialed>;

  void take(const Packet& packet);
  void answered(const Packet& packet);
  void open(std::int64_t number, const DialedPtr& dialed);
  void close(std::int64_t number);
  void say(const Packet& packet);
  void finish(const DialedPtr& dialed, Result<boost::asio::ip::tcp::socket> outcome);
  void end();

  boost::asio::any_io_executor executor_;
  std::shared_ptr<serve::BodyReader> content_;
  const std::size_t servers_;
  const std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  std::function<void()> wake_;
  GrpcFrames frames_{kMostPacketBytes};
  std::string outgoing_;
  std::int64_t last_ = 0;
  std::map<std::int64_t, DialedPtr> dialing_;  // by their random numbers
  std::map<std::int64_t, DialedPtr> open_;     // by the agent's numbers
  bool draining_ = false;
  bool over_ = false;
};

}  // namespace fleetadm::konnectivity
