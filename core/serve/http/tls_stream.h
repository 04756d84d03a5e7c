// Either end of TLS on a socket that does not block, without buffers beside OpenSSL's, which are gone while a connection is
// idle (SSL_MODE_RELEASE_BUFFERS). Asio's ssl::stream keeps 70 KiB a connection. I/O thread only.
#pragma once

#include <memory>
#include <openssl/ssl.h>
#include <span>
#include <string>
#include <string_view>

#include "core/serve/http/socket_stream.h"

namespace fleetadm::serve {

struct TlsSocket;

class TlsStream final : public SocketStream {
 public:
  ~TlsStream() override;
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  /// Of a context of tls_context.h. Null where there is no memory.
  static std::unique_ptr<TlsStream> accept(int socket, SSL_CTX* context);
  /// The client's end, of a context of make_client_tls(): the server's certificate must be valid for `server_name` (a DNS name or
  /// an IP address).
  static std::unique_ptr<TlsStream> connect(int socket, SSL_CTX* context, const std::string& server_name);

  Step handshake() override;
  Moved read(std::span<char> into) override;
  Moved write(std::string_view bytes) override;
  bool http2() const override;
  Peer peer() const override;
  void forget_peer() override;
  const TlsStream* tls() const override { return this; }
  SSL* ssl() const { return ssl_.get(); }
  /// Why a handshake ended, for people: what is wrong with the peer's certificate, or with the protocol.
  std::string failure() const;

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  TlsStream(int socket, SSL* ssl);
  static std::unique_ptr<TlsStream> make(int socket, SSL_CTX* context);
  Step after(int result) const;

  const std::unique_ptr<TlsSocket> socket_;  // outlives ssl_, whose BIO reads and writes it
  std::unique_ptr<SSL, Free> ssl_;
};

}  // namespace fleetadm::serve
