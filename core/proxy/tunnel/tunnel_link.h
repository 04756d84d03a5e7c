// The agent's tunnel to one gateway: dials, serves what is asked on it, dials again.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/proxy/tunnel/tunnel_client.h"
#include "core/serve/http/connection.h"
#include "core/serve/http/memory_budget.h"
#include "core/serve/http/tls_stream.h"
#include "kubeclient/base/host_port.h"

namespace fleetadm::proxy {

/// I/O thread only, but for state(). Its owner calls tick() about twice a second.
class TunnelLink : public std::enable_shared_from_this<TunnelLink> {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;

  TunnelLink(boost::asio::any_io_executor executor, HostPort address, std::shared_ptr<const TunnelClientOptions> options,
             std::shared_ptr<serve::MemoryBudget> room);

  void start(std::string ca);
  /// Makes a new connection, verified by this CA, and drains the one that there is.
  void use_ca(std::string ca);
  void tick(SteadyTime now);
  /// No more connections; those that there are have until then to end.
  void drain(SteadyTime until);
  void close();

  bool closed() const { return stopped_ && lines_.empty(); }
  bool busy() const;
  /// Any thread.
  TunnelState state() const;

 private:
  /// A connection on its way, or made.
  struct Line {
    std::shared_ptr<serve::Connection> connection;  // once there is a socket
    const serve::TlsStream* tls = nullptr;
    bool open = false;     // the gateway has begun to speak: it takes the certificate
    bool leaving = false;  // drained
    SteadyTime opened;
    std::optional<Error> failure;
  };
  class Served;

  void connect();
  void dialed(const std::shared_ptr<Line>& line, std::shared_ptr<boost::asio::ssl::context> tls,
              boost::asio::ip::tcp::socket socket);
  std::shared_ptr<serve::Protocol> serve_on(const std::shared_ptr<Line>& line, serve::ProtocolHost host,
                                            const serve::SocketStream& stream);
  void opened(const std::shared_ptr<Line>& line);
  void told_to_leave(const std::shared_ptr<Line>& line);
  void lost(const std::shared_ptr<Line>& line);
  void failed(const std::shared_ptr<Line>& line, const Error& error);
  void retry();
  void check_certificate(SteadyTime now);
  bool connecting() const;
  void note(bool connected, const std::string& error);

  boost::asio::any_io_executor executor_;
  const HostPort address_;
  const std::shared_ptr<const TunnelClientOptions> options_;
  const std::shared_ptr<serve::MemoryBudget> room_;
  std::string ca_;
  std::string certificate_;  // PEM, of the last attempt
  std::vector<std::shared_ptr<Line>> lines_;
  std::optional<SteadyTime> next_try_;
  std::chrono::milliseconds delay_;
  SteadyTime certificate_checked_;
  std::optional<SteadyTime> drained_by_;
  bool stopped_ = false;
  std::minstd_rand random_;
  boost::asio::steady_timer timer_;
  mutable std::mutex mutex_;
  TunnelState state_;
};

}  // namespace fleetadm::proxy
