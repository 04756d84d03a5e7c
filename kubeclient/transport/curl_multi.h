// One libcurl multi handle on the I/O loop: its sockets and its timer. A transport has one of its own, or is lent that of the
// same credential (lent_connections.h), so that connections of two credentials never mix. I/O thread only, but for construction
// and destruction.
#pragma once

#include <chrono>
#include <curl/curl.h>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "kubeclient/transport/epoll_loop.h"

namespace fleetadm::kube {

class CurlMulti : public std::enable_shared_from_this<CurlMulti> {
 public:
  using Done = std::function<void(CURLcode)>;

  /// The returned handle is cleaned up on the I/O thread, whoever drops it last.
  static std::shared_ptr<CurlMulti> make(std::shared_ptr<EpollLoop> loop);
  ~CurlMulti();
  CurlMulti(const CurlMulti&) = delete;
  CurlMulti& operator=(const CurlMulti&) = delete;

  /// Starts a transfer; `done` runs once, outside of libcurl's own callbacks, after the handle left the multi.
  /// `before_leaving`: runs before the handle leaves the multi, which closes a connection that is the handle's alone.
  /// Not from a libcurl callback.
  void add(CURL* easy, Done done, Done before_leaving = {});
  /// Ends a transfer without calling its `done`. Not from a libcurl callback.
  void remove(CURL* easy);
  /// Tells what ALPN gave: HTTP/1.1 needs a connection a stream, HTTP/2 shares few.
  void learned_version(long curl_http_version);
  /// Notes that libcurl handed something out: its connections are read again, for it may hold more.
  void delivered() {
    delivered_ = true;
    silent_since_.reset();
  }
  /// Notes that a request's time is over and nothing of its answer has come. Where another one ends so after a while in which
  /// nothing came for anybody, the connections are broken: something on the way takes bytes and hands nothing on, which keepalive
  /// does not see, and libcurl would go on with them for ever.
  void unanswered(std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now());

 private:
  struct Private {};

 public:
  CurlMulti(Private, std::shared_ptr<EpollLoop> loop);

 private:
  void make_handle();
  static int on_socket(CURL* easy, curl_socket_t fd, int what, void* self, void* socket_data);
  static int on_timer(CURLM* multi, long timeout_ms, void* self);
  void act(curl_socket_t fd, int mask);
  void read_soon();
  void read_again();
  void reap();
  void bound_connections();

  std::shared_ptr<EpollLoop> loop_;
  std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)> multi_{nullptr, &curl_multi_cleanup};  // until something is sent: null
  struct Transfer {
    Done done;
    Done before_leaving;
  };
  std::unordered_map<CURL*, Transfer> transfers_;
  std::unordered_set<curl_socket_t> sockets_;
  bool delivered_ = false;                                             // since the last look
  std::optional<std::chrono::steady_clock::time_point> silent_since_;  // a request was not answered, and nothing came since
  bool reading_again_ = false;                                         // read_again() is to run
  std::uint64_t timer_ = 0;
  long connections_ = -1;
  bool one_per_stream_ = false;
};

}  // namespace fleetadm::kube
