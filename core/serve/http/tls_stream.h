// The server's end of TLS on a socket that does not block, without buffers beside OpenSSL's, which are gone while a connection is
// idle (SSL_MODE_RELEASE_BUFFERS). Asio's ssl::stream keeps 70 KiB a connection. I/O thread only.
#pragma once

#include <memory>
#include <openssl/ssl.h>
#include <span>
#include <string_view>

#include "core/serve/http/socket_stream.h"

namespace fleetadm::serve {

class TlsStream final : public SocketStream {
 public:
  /// Of a context of tls_context.h. Null where there is no memory.
  static std::unique_ptr<TlsStream> accept(int socket, SSL_CTX* context);

  Step handshake() override;
  Moved read(std::span<char> into) override;
  Moved write(std::string_view bytes) override;
  bool http2() const override;
  Peer peer() const override;
  SSL* ssl() const { return ssl_.get(); }

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  explicit TlsStream(SSL* ssl) : ssl_(ssl) {}
  Step after(int result) const;

  std::unique_ptr<SSL, Free> ssl_;
};

}  // namespace fleetadm::serve
