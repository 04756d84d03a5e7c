// What the machine takes for TLS itself: two relays in a row that do nothing but decrypt and encrypt, which is the least that a
// gateway and an agent's end can take.
#pragma once

#include <array>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "kubeclient/base/host_port.h"
#include "kubeclient/pki/openssl.h"
#include "tests/bench/proxy_process.h"
#include "tests/bench/work_process.h"

namespace fleetadm::bench {

/// One end of a connection.
class TlsEnd {
 public:
  static constexpr int kChunk = 64 * 1024;

  TlsEnd(int socket, bool serves, const pki::KeyPair& identity)
      : socket_(socket), context_(SSL_CTX_new(serves ? TLS_server_method() : TLS_client_method())) {
    const auto certificate = pki::read_certificate(identity.certificate);
    const auto key = pki::read_private_key(identity.key);
    if (socket < 0 || !certificate || !key) return;
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    SSL_CTX_use_certificate(context_.get(), certificate->get());
    SSL_CTX_use_PrivateKey(context_.get(), key->get());
    SSL_CTX_set_num_tickets(context_.get(), 0);
    SSL_CTX_set_ciphersuites(context_.get(), "TLS_AES_128_GCM_SHA256");
    SSL_CTX_clear_mode(context_.get(), SSL_MODE_AUTO_RETRY);
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
    if (socket_ >= 0) ::close(socket_);
  }
  TlsEnd(const TlsEnd&) = delete;
  TlsEnd& operator=(const TlsEnd&) = delete;

  bool good() const { return good_; }
  int socket() const { return socket_; }
  /// Something is there that was read ahead.
  bool holds() const { return SSL_has_pending(ssl_.get()) == 1; }
  /// What is there, up to a chunk; may be nothing, as behind a session ticket. Nullopt: nothing comes any more.
  std::optional<std::size_t> read(char* into) {
    int taken = 0;
    do {
      const int more = SSL_read(ssl_.get(), into + taken, kChunk - taken);
      if (more <= 0 && SSL_get_error(ssl_.get(), more) != SSL_ERROR_WANT_READ && taken == 0) return std::nullopt;
      if (more <= 0) break;
      taken += more;
    } while (taken < kChunk && holds());
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

/// Takes connections on loopback, and makes one to the next end for each. A thread each.
class TlsRelay {
 public:
  /// The next end's host is an address.
  TlsRelay(HostPort next, pki::KeyPair serving, pki::KeyPair client)
      : next_(std::move(next)), serving_(std::move(serving)), client_(std::move(client)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const at = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, at, size) != 0 || ::listen(listener_, 16) != 0 || ::getsockname(listener_, at, &size) != 0) return;
    port_ = ntohs(address.sin_port);
    accepting_ = std::jthread([this] {
      for (int socket = -1; (socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;)
        connections_.emplace_back([this, socket] { pass_on(socket); });
    });
  }
  /// Waits for its clients to leave.
  ~TlsRelay() {
    ::shutdown(listener_, SHUT_RDWR);
    if (accepting_.joinable()) accepting_.join();
    connections_.clear();
    ::close(listener_);
  }
  TlsRelay(const TlsRelay&) = delete;
  TlsRelay& operator=(const TlsRelay&) = delete;

  /// 0: it does not listen.
  int port() const { return port_; }

 private:
  int dial() const {
    addrinfo* found = nullptr;
    if (::getaddrinfo(next_.host.c_str(), next_.port.c_str(), nullptr, &found) != 0) return -1;
    const int socket = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool connected = ::connect(socket, found->ai_addr, found->ai_addrlen) == 0;
    ::freeaddrinfo(found);
    if (connected) return socket;
    ::close(socket);
    return -1;
  }

  void pass_on(int socket) const {
    TlsEnd client(socket, true, serving_);
    TlsEnd server(client.good() ? dial() : -1, false, client_);
    if (!client.good() || !server.good()) return;
    std::vector<char> chunk(TlsEnd::kChunk);
    const auto move = [&](TlsEnd& from, TlsEnd& to) {
      const auto size = from.read(chunk.data());
      return size && (*size == 0 || to.write(chunk.data(), *size));
    };
    while (true) {
      std::array<pollfd, 2> ends = {{{client.socket(), POLLIN, 0}, {server.socket(), POLLIN, 0}}};
      const bool held = client.holds() || server.holds();
      if (::poll(ends.data(), ends.size(), held ? 0 : -1) < 0) return;
      if ((ends[0].revents != 0 || client.holds()) && !move(client, server)) return;
      if ((ends[1].revents != 0 || server.holds()) && !move(server, client)) return;
    }
  }

  const HostPort next_;
  const pki::KeyPair serving_;
  const pki::KeyPair client_;
  const int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int port_ = 0;
  std::vector<std::jthread> connections_;  // of accepting_, while it runs
  std::jthread accepting_;
};

/// A plan: {"host", "port"}: the API server; {"jane", "janeKey"}: who asks it; {"serving", "servingKey"}. The answer: {"port"} of
/// the first of two relays.
inline int run_relays_part(const Json& plan, const Orders& orders) {
  const pki::KeyPair serving{str(plan, {"serving"}), str(plan, {"servingKey"})};
  const TlsRelay second({str(plan, {"host"}), str(plan, {"port"})}, serving, {str(plan, {"jane"}), str(plan, {"janeKey"})});
  const TlsRelay first({"127.0.0.1", std::to_string(second.port())}, serving, serving);
  orders.answer({{"port", second.port() == 0 ? 0 : first.port()}});
  orders.serve([](const Json&) { return Json::object(); });
  return 0;
}

}  // namespace fleetadm::bench
