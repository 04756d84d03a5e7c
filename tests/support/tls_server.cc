#include "tests/support/tls_server.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <list>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace fleetadm::testkit {

namespace {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using ContextPtr = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, Freed<SSL_free>>;
using BioPtr = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using CertificatePtr = std::unique_ptr<X509, Freed<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;

ContextPtr make_context(const pki::KeyPair& pair) {
  ContextPtr context(SSL_CTX_new(TLS_server_method()));
  const BioPtr certificate_bio(BIO_new_mem_buf(pair.certificate.data(), static_cast<int>(pair.certificate.size())));
  const BioPtr key_bio(BIO_new_mem_buf(pair.key.data(), static_cast<int>(pair.key.size())));
  const CertificatePtr certificate(PEM_read_bio_X509(certificate_bio.get(), nullptr, nullptr, nullptr));
  const KeyPtr key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr));
  SSL_CTX_use_certificate(context.get(), certificate.get());
  SSL_CTX_use_PrivateKey(context.get(), key.get());
  // As kube-apiserver: a client certificate is asked for, and judged by the application.
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
  return context;
}

/// One accepted connection, encrypted or not.
class Connection {
 public:
  Connection(int fd, SSL_CTX* context) : fd_(fd) {
    if (context == nullptr) return;
    ssl_.reset(SSL_new(context));
    SSL_set_fd(ssl_.get(), fd_);
    if (SSL_accept(ssl_.get()) != 1) broken_ = true;
  }
  ~Connection() {
    ssl_.reset();
    ::close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool broken() const { return broken_; }

  std::string peer_name() const {
    if (!ssl_) return {};
    const CertificatePtr peer(SSL_get1_peer_certificate(ssl_.get()));
    if (!peer) return {};
    std::array<char, 256> name{};
    X509_NAME_get_text_by_NID(X509_get_subject_name(peer.get()), NID_commonName, name.data(), static_cast<int>(name.size()));
    return name.data();
  }

  bool read_more(std::string& into) {
    std::array<char, 16384> buffer{};
    const auto got = ssl_ ? static_cast<ssize_t>(SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size())))
                          : ::recv(fd_, buffer.data(), buffer.size(), 0);
    if (got <= 0) return false;
    into.append(buffer.data(), static_cast<std::size_t>(got));
    return true;
  }

  bool write_all(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto wrote = ssl_ ? static_cast<ssize_t>(SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())))
                              : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (wrote <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return true;
  }

 private:
  int fd_;
  SslPtr ssl_;
  bool broken_ = false;
};

/// A body in chunks, without extensions and trailers.
bool read_chunks(Connection& connection, std::string& buffer, std::string& body) {
  while (true) {
    std::size_t end = std::string::npos;
    while ((end = buffer.find("\r\n")) == std::string::npos) {
      if (!connection.read_more(buffer)) return false;
    }
    const std::size_t size = std::stoul(buffer.substr(0, end), nullptr, 16);
    while (buffer.size() < end + 2 + size + 2) {
      if (!connection.read_more(buffer)) return false;
    }
    body += buffer.substr(end + 2, size);
    buffer.erase(0, end + 2 + size + 2);
    if (size == 0) return true;
  }
}

/// The next request of a connection; false when it ended. `buffer` keeps what came too early.
bool read_request(Connection& connection, std::string& buffer, TlsRequest& request) {
  std::size_t end = std::string::npos;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (!connection.read_more(buffer)) return false;
    if (buffer.front() == '\x16') {  // a TLS handshake on a plain port
      connection.write_all("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
      return false;
    }
  }
  std::string_view head = std::string_view(buffer).substr(0, end);
  const auto first = head.substr(0, head.find("\r\n"));
  request.method = first.substr(0, first.find(' '));
  request.target = first.substr(request.method.size() + 1, first.rfind(' ') - request.method.size() - 1);
  head.remove_prefix(std::min(head.size(), first.size() + 2));
  while (!head.empty()) {
    const auto line = head.substr(0, head.find("\r\n"));
    head.remove_prefix(std::min(head.size(), line.size() + 2));
    const auto colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    request.headers[name] = line.substr(colon + 2);
  }
  if (request.headers.contains("transfer-encoding")) {
    buffer.erase(0, end + 4);
    return read_chunks(connection, buffer, request.body);
  }
  const auto length_header = request.headers.find("content-length");
  const std::size_t length = length_header == request.headers.end() ? 0 : std::stoul(length_header->second);
  const std::size_t body = end + 4;
  while (buffer.size() < body + length) {
    if (!connection.read_more(buffer)) return false;
  }
  request.body = buffer.substr(body, length);
  buffer.erase(0, body + length);
  return true;
}

}  // namespace

struct TlsServer::State {
  int listener = -1;
  int port = 0;
  bool tls = true;
  ContextPtr context;
  TlsHandler handler;
  std::atomic<int> connections{0};
  std::atomic<bool> stopping{false};
  std::mutex mutex;
  std::list<int> open;  // sockets, to be shut down at the end
  std::list<std::thread> threads;
  std::thread acceptor;

  void serve(int fd) {
    sigset_t pipe{};
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    {
      Connection connection(fd, tls ? context.get() : nullptr);
      std::string buffer;
      bool again = !connection.broken();
      while (again && !stopping) {
        TlsRequest request;
        if (!read_request(connection, buffer, request)) break;
        request.client_name = connection.peer_name();
        again = handler(request, [&](std::string_view bytes) { return !stopping && connection.write_all(bytes); });
      }
      const std::scoped_lock lock(mutex);
      open.remove(fd);
    }
  }

  void accept_all() {
    while (!stopping) {
      pollfd waiting{listener, POLLIN, 0};
      if (::poll(&waiting, 1, 50) <= 0) continue;
      const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      ++connections;
      const std::scoped_lock lock(mutex);
      open.push_back(fd);
      threads.emplace_back([this, fd] { serve(fd); });
    }
  }
};

TlsServer::TlsServer(const pki::KeyPair& certificate, TlsHandler handler, bool tls) : state_(std::make_shared<State>()) {
  state_->tls = tls;
  if (tls) state_->context = make_context(certificate);
  state_->handler = std::move(handler);
  state_->listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = static_cast<sockaddr*>(static_cast<void*>(&address));
  ::bind(state_->listener, generic, size);
  ::listen(state_->listener, 128);
  ::getsockname(state_->listener, generic, &size);
  state_->port = ntohs(address.sin_port);
  state_->acceptor = std::thread([state = state_.get()] { state->accept_all(); });
}

TlsServer::~TlsServer() {
  state_->stopping = true;
  state_->acceptor.join();
  {
    const std::scoped_lock lock(state_->mutex);
    for (const int fd : state_->open) ::shutdown(fd, SHUT_RDWR);
  }
  for (auto& thread : state_->threads) thread.join();
  ::close(state_->listener);
}

int TlsServer::port() const { return state_->port; }
std::string TlsServer::url() const {
  return (state_->tls ? "https" : "http") + std::string("://127.0.0.1:") + std::to_string(port());
}
int TlsServer::connections() const { return state_->connections; }

std::string TlsServer::response(int status, std::string_view body, std::string_view more_headers) {
  return "HTTP/1.1 " + std::to_string(status) +
         " X\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(more_headers) + "\r\n" + std::string(body);
}

}  // namespace fleetadm::testkit
