// What the machine takes for TLS itself: two relays in a row that do nothing but decrypt and encrypt, which is the least that a
// gateway and an agent's end can take for a stream.
#pragma once

#include <array>
#include <ctime>
#include <memory>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "kubeclient/pki/openssl.h"

namespace fleetadm::bench {

/// One end of a connection over loopback.
class TlsEnd {
 public:
  static constexpr int kChunk = 64 * 1024;

  TlsEnd(int socket, bool serves, const pki::KeyPair& identity)
      : socket_(socket), context_(SSL_CTX_new(serves ? TLS_server_method() : TLS_client_method())) {
    if (serves) {
      const auto certificate = pki::read_certificate(identity.certificate);
      const auto key = pki::read_private_key(identity.key);
      if (!certificate || !key) return;
      SSL_CTX_use_certificate(context_.get(), certificate->get());
      SSL_CTX_use_PrivateKey(context_.get(), key->get());
      SSL_CTX_set_num_tickets(context_.get(), 0);
    }
    SSL_CTX_set_read_ahead(context_.get(), 1);  // whole chunks a system call, in both directions
    SSL_CTX_set_default_read_buffer_len(context_.get(), kChunk + 4096);
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), socket_);
    if ((serves ? SSL_accept(ssl_.get()) : SSL_connect(ssl_.get())) != 1) return;
    buffer_.reset(BIO_new(BIO_f_buffer()));
    BIO_set_write_buffer_size(buffer_.get(), kChunk + 4096);
    BIO* const to_socket = SSL_get_wbio(ssl_.get());
    BIO_up_ref(to_socket);
    BIO_up_ref(buffer_.get());
    SSL_set0_wbio(ssl_.get(), BIO_push(buffer_.get(), to_socket));
    good_ = true;
  }
  ~TlsEnd() {
    ssl_.reset();
    ::close(socket_);
  }
  TlsEnd(const TlsEnd&) = delete;
  TlsEnd& operator=(const TlsEnd&) = delete;

  bool good() const { return good_; }
  /// What is there, up to a chunk; 0: nothing comes any more.
  std::size_t read(char* into) {
    int taken = 0;
    do {
      const int more = SSL_read(ssl_.get(), into + taken, kChunk - taken);
      if (more <= 0) break;
      taken += more;
    } while (taken < kChunk && SSL_has_pending(ssl_.get()) == 1);
    return static_cast<std::size_t>(taken);
  }
  bool write(const char* from, std::size_t size) {
    return SSL_write(ssl_.get(), from, static_cast<int>(size)) == static_cast<int>(size) && BIO_flush(buffer_.get()) == 1;
  }

 private:
  int socket_;
  std::unique_ptr<SSL_CTX, pki::Deleter<SSL_CTX_free>> context_;
  std::unique_ptr<SSL, pki::Deleter<SSL_free>> ssl_;
  std::unique_ptr<BIO, pki::Deleter<BIO_free>> buffer_;
  bool good_ = false;
};

/// A listening socket's client and the socket that it accepts; both -1: there is none.
inline std::array<int, 2> connected_sockets() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  std::array<int, 2> ends{-1, -1};
  auto* const at = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, at, size) == 0 && ::listen(listener, 1) == 0 && ::getsockname(listener, at, &size) == 0) {
    ends[0] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(ends[0], at, size) == 0) ends[1] = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  }
  ::close(listener);
  return ends;
}

/// Milliseconds of processor time that both relays together take for one MiB.
inline Result<double> cpu_of_tls_relays(std::size_t mebibytes) {
  FLEETADM_TRY(const auto ca, pki::make_ca("relays", std::chrono::hours(1)));
  FLEETADM_TRY(const auto identity, pki::issue(ca, pki::LeafOptions{.subject = {.common_name = "relay"}, .server = true}));
  const std::size_t total = mebibytes * 1024 * 1024;
  std::array<std::array<int, 2>, 3> hops{};
  for (auto& hop : hops) {
    hop = connected_sockets();
    if (hop[1] < 0) return fail(Category::kInternal, "no connection over loopback");
  }
  std::array<double, 2> seconds{-1, -1};
  const auto relay = [&](std::size_t which) {
    TlsEnd from(hops[which][0], false, identity);
    TlsEnd to(hops[which + 1][1], true, identity);
    if (!from.good() || !to.good()) return;
    const auto now = [] {
      timespec at{};
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
      return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_nsec) / 1e9;
    };
    std::vector<char> chunk(TlsEnd::kChunk);
    const double begun = now();
    for (std::size_t done = 0; done < total;) {
      const std::size_t size = from.read(chunk.data());
      if (size == 0 || !to.write(chunk.data(), size)) return;
      done += size;
    }
    seconds[which] = now() - begun;
  };
  const std::jthread source([&] {
    TlsEnd to(hops[0][1], true, identity);
    const std::vector<char> chunk(TlsEnd::kChunk);
    for (std::size_t done = 0; to.good() && done < total; done += chunk.size()) to.write(chunk.data(), chunk.size());
  });
  {
    const std::jthread first(relay, 0);
    const std::jthread second(relay, 1);
    TlsEnd reader(hops[2][0], false, identity);
    std::vector<char> chunk(TlsEnd::kChunk);
    for (std::size_t done = 0; reader.good() && done < total;) {
      const std::size_t size = reader.read(chunk.data());
      if (size == 0) break;
      done += size;
    }
  }
  if (seconds[0] < 0 || seconds[1] < 0) return fail(Category::kInternal, "the relays broke off");
  return (seconds[0] + seconds[1]) * 1000 / static_cast<double>(mebibytes);
}

}  // namespace fleetadm::bench
