// A client's stream at the front end, as the answer to its request: one dial, and the bytes of the connection that comes of it.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/proxy/konnectivity/agent_connections.h"
#include "core/proxy/konnectivity/grpc_frames.h"
#include "core/serve/http/body_pipe.h"

namespace fleetadm::konnectivity {

/// Connects to "host:port"; calls back on the I/O thread, once, and not from within.
using DialTarget = std::function<void(const std::string& target, std::function<void(Result<boost::asio::ip::tcp::socket>)> done)>;

/// I/O thread only. Neither side is read faster than the other takes it: a stream has credit of its own. Its end, in order or
/// not, closes the target's connection, once that has what was sent before.
class FrontLine final : public serve::BodyStream, public std::enable_shared_from_this<FrontLine> {
 public:
  FrontLine(std::shared_ptr<serve::BodyReader> content, DialTarget dial) : content_(std::move(content)), dial_(std::move(dial)) {}
  ~FrontLine() override;
  FrontLine(const FrontLine&) = delete;
  FrontLine& operator=(const FrontLine&) = delete;

  More read(std::string& into, std::size_t most) override;
  void on_ready(std::function<void()> wake) override;

 private:
  class Target;

  /// False: what came is not the protocol.
  bool take_content(bool& any);
  void take(const Packet& packet);
  void dial(const Packet& packet);
  void dialed(std::int64_t random, Result<boost::asio::ip::tcp::socket> socket);
  void read_target();
  void target_said(std::string_view bytes);
  void target_ended();
  void close_target();
  void say(const Packet& packet);
  void wake() const;

  std::shared_ptr<serve::BodyReader> content_;
  const DialTarget dial_;
  std::function<void()> wake_;
  GrpcFrames frames_{kMostPacketBytes};
  AgentConnections connections_{1};
  std::shared_ptr<Target> target_;
  std::int64_t number_ = 0;  // of the connection
  std::string outgoing_;
  bool over_ = false;
};

}  // namespace fleetadm::konnectivity
