// The server's end of TLS on a socket that does not block, without buffers beside OpenSSL's, which are gone while a connection is
// idle (SSL_MODE_RELEASE_BUFFERS). Asio's ssl::stream keeps 70 KiB a connection. I/O thread only.
#pragma once

#include <cstddef>
#include <memory>
#include <openssl/ssl.h>
#include <span>
#include <string_view>

namespace fleetadm::serve {

class TlsStream {
 public:
  /// What a step did, or what has to come first.
  enum class Step { kDone, kWaitsToRead, kWaitsToWrite, kEnded };
  struct Moved {
    Step step = Step::kEnded;
    std::size_t bytes = 0;  // where it is done
  };

  /// Of a context of tls_context.h. The socket is the caller's, and stays open for as long as this is used. Null where there is
  /// no memory.
  static std::unique_ptr<TlsStream> accept(int socket, SSL_CTX* context);

  Step handshake();
  Moved read(std::span<char> into);
  /// Part of it may be written; the rest may stand elsewhere the next time.
  Moved write(std::string_view bytes);
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
