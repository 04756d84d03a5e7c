// The HTTP/2 connections to one server with one credential. Connections are made when requests need them, and shared by as many
// as the server lets run at once. I/O thread only, but for construction and destruction.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "kubeclient/http2/keep_alive.h"
#include "kubeclient/transport/epoll_loop.h"
#include "kubeclient/transport/http2_connection.h"
#include "kubeclient/transport/http2_stream.h"
#include "kubeclient/transport/tls_dial.h"

namespace fleetadm::kube {

class Http2Pool final : public Http2Owner, public std::enable_shared_from_this<Http2Pool> {
  struct Private {};

 public:
  struct Target {
    std::string host;  // IPv6 in brackets
    std::string port;
    TlsPeer peer;
    KeepAliveTimes keep_alive;
  };

  /// The returned handle is cleaned up on the I/O thread, whoever drops it last.
  static std::shared_ptr<Http2Pool> make(std::shared_ptr<EpollLoop> loop, Target target);
  Http2Pool(Private, std::shared_ptr<EpollLoop> loop, Target target) : loop_(std::move(loop)), target_(std::move(target)) {}
  ~Http2Pool() override;
  Http2Pool(const Http2Pool&) = delete;
  Http2Pool& operator=(const Http2Pool&) = delete;

  /// False once the server has chosen HTTP/1.1.
  bool usable() const { return usable_; }
  EpollLoop& loop() const { return *loop_; }

  /// A request that is not on its way yet.
  std::unique_ptr<Http2Stream> make_wire(const Outgoing& request, WireEvents& events);
  /// Sends it, as soon as there is a connection.
  void send(Http2Stream& stream);
  /// It waits no longer.
  void forget(const Http2Stream& stream);

  void take_back(Http2Stream& stream, const CurlFailure& why, bool unprocessed, bool reused) override;
  void look_again() override;

 private:
  struct Line {
    std::string certificate;  // of the client; empty: none
    std::shared_ptr<Http2Connection> connection;
  };
  struct Dialing {
    std::string certificate;
    std::unique_ptr<TlsDial> dial;
  };

  bool begin(Http2Stream& stream);
  void serve_waiting();
  void dial_for(const Http2Stream& stream);
  void on_dialed(const TlsDial* dial, TlsDial::Outcome outcome);
  void fall_back();

  const std::shared_ptr<EpollLoop> loop_;
  const Target target_;
  std::vector<Line> lines_;
  std::vector<Dialing> dials_;
  std::list<Http2Stream*> waiting_;  // mostly none, which takes no memory
  bool usable_ = true;
};

}  // namespace fleetadm::kube
