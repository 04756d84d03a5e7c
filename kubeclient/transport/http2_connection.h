// One HTTP/2 connection to a server: the streams of many requests on a TLS connection, and whether the server is still there.
// I/O thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <nghttp2/nghttp2.h>
#include <string>
#include <string_view>

#include "kubeclient/http2/http2_session.h"
#include "kubeclient/http2/keep_alive.h"
#include "kubeclient/transport/epoll_loop.h"
#include "kubeclient/transport/http2_stream.h"
#include "kubeclient/transport/tls_stream.h"

namespace fleetadm::kube {

/// Who gave it the streams.
class Http2Owner {
 public:
  Http2Owner() = default;
  Http2Owner(const Http2Owner&) = delete;
  Http2Owner& operator=(const Http2Owner&) = delete;
  virtual ~Http2Owner() = default;
  /// The stream has left the connection without an answer. `unprocessed`: the server has not looked at it; `reused`: the
  /// connection had carried others.
  virtual void take_back(Http2Stream& stream, const CurlFailure& why, bool unprocessed, bool reused) = 0;
  /// A connection has room again, or is closed.
  virtual void look_again() = 0;
};

class Http2Connection : public std::enable_shared_from_this<Http2Connection> {
 public:
  /// `tls` is past its handshake. The owner lives longer, or calls close().
  Http2Connection(std::shared_ptr<EpollLoop> loop, TlsStream tls, KeepAliveTimes times, Http2Owner& owner);
  ~Http2Connection();
  Http2Connection(const Http2Connection&) = delete;
  Http2Connection& operator=(const Http2Connection&) = delete;

  void start();
  /// Whether another stream may be begun.
  bool has_room() const;
  bool closed() const { return closed_; }
  /// Sends the request. False: the connection takes no more.
  bool begin(Http2Stream& stream);
  /// The stream is given up.
  void leave(const Http2Stream& stream);
  /// Asks the server whether it is there, ahead of time.
  void ask_for_life();
  /// Without a word to the owner. There are no streams.
  void close();

 private:
  using Steady = std::chrono::steady_clock;

  void make_session();
  Http2Stream* stream_of(std::int32_t id) const;
  void on_ready(std::uint32_t events);
  void read_all();
  void flush();
  void flush_soon();
  void gather();
  void watch(bool writing);
  void look_at_end();
  void fail(const CurlFailure& failure);
  Steady::time_point ping_due() const;
  void arm();
  void tick();
  int on_header(const nghttp2_frame* frame, std::string_view name, std::string_view value);
  int on_frame(const nghttp2_frame* frame);
  int on_sent(const nghttp2_frame* frame);
  int on_data(std::int32_t id, std::string_view data);
  void on_closed(std::int32_t id, std::uint32_t code);

  const std::shared_ptr<EpollLoop> loop_;
  Http2Owner& owner_;
  TlsStream tls_;
  Http2Memory memory_;  // outlives the session
  Http2Session session_;
  std::map<std::int32_t, Http2Stream*> streams_;
  const KeepAliveTimes times_;
  KeepAlive keep_alive_;
  Steady::time_point idle_since_;
  std::uint64_t timer_ = 0;
  std::string out_;
  std::size_t written_ = 0;
  bool flushing_soon_ = false;
  bool watches_write_ = false;
  bool asks_ = false;  // a ping is to be sent
  bool has_answered_ = false;
  bool draining_ = false;
  bool freed_ = false;  // a stream has ended, which the owner does not know yet
  bool closed_ = false;
};

}  // namespace fleetadm::kube
