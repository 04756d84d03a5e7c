// TLS as a client, on a connected socket, without blocking. Speaks HTTP/2 where the server does. One thread at a time.
#pragma once

#include <memory>
#include <openssl/ssl.h>
#include <span>
#include <string>
#include <string_view>

#include "kubeclient/base/owned_fd.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/transport/curl_errors.h"

namespace fleetadm::kube {

/// Who the other end has to be.
struct TlsPeer {
  std::string name;    // host name or address, IPv6 in brackets
  std::string ca_pem;  // who is trusted
};

/// Moves. Once something has failed, nothing else is to be called but failure().
class TlsStream {
 public:
  enum class Step { kDone, kWantsRead, kWantsWrite, kFailed };

  /// `socket` does not block. Of the credentials the client certificate is used. On failure: code and detail.
  static tl::expected<TlsStream, CurlFailure> make(OwnedFd socket, const TlsPeer& peer, const Credentials& credentials);

  /// Again whenever the socket is ready for what it wants.
  Step handshake();
  /// After the handshake: whether the server agreed to HTTP/2.
  bool speaks_http2() const;
  /// As much as there is, at most `into`; `count` is how much.
  Step read(std::span<char> into, std::size_t& count);
  /// Whether read() may bring more although the socket is not readable.
  bool holds_back() const { return SSL_has_pending(ssl_.get()) == 1; }
  /// As much as goes; `count` is how much.
  Step write(std::string_view bytes, std::size_t& count);
  /// Says goodbye, as far as that goes at once.
  void shut_down();

  int descriptor() const { return socket_.get(); }
  const CurlFailure& failure() const { return failure_; }

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  TlsStream(OwnedFd socket, std::unique_ptr<SSL, Free> ssl) : socket_(std::move(socket)), ssl_(std::move(ssl)) {}
  Step fail_or_wait(int result, CURLcode code);

  OwnedFd socket_;
  std::unique_ptr<SSL, Free> ssl_;
  CurlFailure failure_;
  bool established_ = false;
};

}  // namespace fleetadm::kube
