// Makes one TLS connection: names are resolved and addresses tried by libcurl, which then hands the socket over. I/O thread only.
#pragma once

#include <array>
#include <curl/curl.h>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "kubeclient/transport/curl_multi.h"
#include "kubeclient/transport/epoll_loop.h"
#include "kubeclient/transport/tls_stream.h"

namespace fleetadm::kube {

class TlsDial {
 public:
  using Outcome = tl::expected<TlsStream, CurlFailure>;
  /// May destroy the dial.
  using Done = std::function<void(Outcome)>;

  /// `host`: IPv6 in brackets. `done` runs once, from the loop, within 15 s; not after the dial is destroyed.
  TlsDial(std::shared_ptr<EpollLoop> loop, const std::string& host, const std::string& port, TlsPeer peer,
          Credentials credentials, Done done);
  ~TlsDial();
  TlsDial(const TlsDial&) = delete;
  TlsDial& operator=(const TlsDial&) = delete;

 private:
  void fail_in(Duration delay, CurlFailure failure);
  void take_socket();
  void on_connected(CURLcode code);
  void step();
  void end(Outcome outcome);

  const std::shared_ptr<EpollLoop> loop_;
  const TlsPeer peer_;
  const Credentials credentials_;
  Done done_;
  const std::shared_ptr<CurlMulti> multi_;
  std::array<char, CURL_ERROR_SIZE> detail_{};
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy_;
  OwnedFd socket_;
  std::optional<TlsStream> stream_;
  std::uint64_t timer_ = 0;
};

}  // namespace fleetadm::kube
