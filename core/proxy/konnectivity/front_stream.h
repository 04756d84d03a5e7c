// The client's side of one connection through a konnectivity front end: a stream of packets that carries it alone.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/proxy/hop/local_pipe.h"
#include "core/proxy/konnectivity/connections.h"
#include "core/proxy/konnectivity/packet_stream.h"

namespace fleetadm::konnectivity {

/// I/O thread only.
class FrontStream final : public PacketStream, public std::enable_shared_from_this<FrontStream> {
 public:
  using Done = std::function<void(Result<boost::asio::ip::tcp::socket>)>;

  /// `done` is called once; where the stream ends before the target is connected, when it ends.
  FrontStream(serve::ProtocolHost host, boost::asio::any_io_executor executor, const std::string& authority, std::string target,
              std::chrono::milliseconds patience, Done done);

  bool tick(std::chrono::steady_clock::time_point now) override;
  void drain() override { close_connection(); }

 private:
  void take(const Packet& packet) override;
  bool is_full() const override;
  void has_room() override;
  void ended(const Error& why) override;
  void opened();
  void close_connection();

  boost::asio::any_io_executor executor_;
  Done done_;
  const std::string target_;
  const std::chrono::steady_clock::time_point deadline_;  // for the target's connection
  ClientConnection connection_;
  std::shared_ptr<proxy::LocalPipe> pipe_;
  std::optional<std::chrono::steady_clock::time_point> closing_;
};

}  // namespace fleetadm::konnectivity
