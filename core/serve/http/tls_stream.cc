#include "core/serve/http/tls_stream.h"

#include <cerrno>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "core/serve/http/tls_context.h"
#include "core/serve/http/tls_inlet.h"
#include "core/serve/http/tls_outlet.h"
#include "kubeclient/pki/tls_peer.h"

namespace fleetadm::serve {

/// Both ways of one.
struct TlsSocket {
  explicit TlsSocket(int socket) : inlet(socket), outlet(socket) {}

  TlsInlet inlet;
  TlsOutlet outlet;
};

namespace {

TlsSocket& socket_of(BIO* bio) { return *static_cast<TlsSocket*>(BIO_get_data(bio)); }

bool again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

int send_some(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const auto sent = socket_of(bio).outlet.put({data, static_cast<std::size_t>(size)});
  if (sent < 0 && again()) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int receive_some(BIO* bio, char* data, int size) {
  BIO_clear_retry_flags(bio);
  const auto got = socket_of(bio).inlet.get({data, static_cast<std::size_t>(size)});
  if (got < 0 && again()) BIO_set_retry_read(bio);
  return static_cast<int>(got);
}

long control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

/// OpenSSL's own socket BIO raises SIGPIPE where a client is gone.
const BIO_METHOD* socket_method() {
  static BIO_METHOD* const kMethod = [] {
    BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    if (method == nullptr) return method;
    BIO_meth_set_write(method, send_some);
    BIO_meth_set_read(method, receive_some);
    BIO_meth_set_ctrl(method, control);
    return method;
  }();
  return kMethod;
}

/// An older error would be taken for the next call's. There is hardly ever one, and to look costs less than to clear.
void forget_errors() {
  if (ERR_peek_error() != 0) ERR_clear_error();
}

/// OpenSSL's buffers would be taken and given back with each record: here they go with the last of those that are there.
void release_buffers(SSL* ssl, bool release) {
  if (release) {
    SSL_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
  } else {
    SSL_clear_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
  }
}

/// SSL_set_tlsext_host_name without its cast.
bool send_server_name(SSL* ssl, std::string name) {
  return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data()) == 1;
}

}  // namespace

TlsStream::TlsStream(int socket, SSL* ssl) : socket_(std::make_unique<TlsSocket>(socket)), ssl_(ssl) {}

TlsStream::~TlsStream() = default;

std::unique_ptr<TlsStream> TlsStream::make(int socket, SSL_CTX* context) {
  std::unique_ptr<TlsStream> stream(new TlsStream(socket, SSL_new(context)));
  BIO* bio = socket_method() == nullptr ? nullptr : BIO_new(socket_method());
  if (!stream->ssl_ || bio == nullptr) {
    BIO_free(bio);
    return nullptr;
  }
  BIO_set_data(bio, stream->socket_.get());
  BIO_set_init(bio, 1);
  SSL_set_bio(stream->ssl(), bio, bio);  // which takes it
  return stream;
}

std::unique_ptr<TlsStream> TlsStream::accept(int socket, SSL_CTX* context) {
  auto stream = make(socket, context);
  if (stream) SSL_set_accept_state(stream->ssl());
  return stream;
}

std::unique_ptr<TlsStream> TlsStream::connect(int socket, SSL_CTX* context, const std::string& server_name) {
  auto stream = make(socket, context);
  if (!stream) return nullptr;
  SSL_set_connect_state(stream->ssl());
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(stream->ssl()), server_name.c_str()) == 1) return stream;
  SSL_set_hostflags(stream->ssl(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool named = !server_name.empty() && SSL_set1_host(stream->ssl(), server_name.c_str()) == 1 &&
                     send_server_name(stream->ssl(), server_name);
  return named ? std::move(stream) : nullptr;
}

std::string TlsStream::failure() const {
  if (const long verdict = SSL_get_verify_result(ssl()); verdict != X509_V_OK) return X509_verify_cert_error_string(verdict);
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason == nullptr ? "the connection ended in the TLS handshake" : reason;
}

TlsStream::Step TlsStream::after(int result) const {
  switch (SSL_get_error(ssl(), result)) {
    case SSL_ERROR_NONE: return Step::kDone;
    case SSL_ERROR_WANT_READ: return Step::kWaitsToRead;
    case SSL_ERROR_WANT_WRITE: return Step::kWaitsToWrite;
    default: return Step::kEnded;
  }
}

TlsStream::Step TlsStream::handshake() {
  forget_errors();
  return after(SSL_do_handshake(ssl()));
}

TlsStream::Moved TlsStream::read(std::span<char> into) {
  forget_errors();
  release_buffers(ssl(), !socket_->inlet.is_ahead());
  Moved out;
  out.step = after(SSL_read_ex(ssl(), into.data(), into.size(), &out.bytes));
  return out;
}

TlsStream::Moved TlsStream::write(std::string_view bytes) {
  forget_errors();
  Moved out;
  out.step = Step::kDone;
  socket_->outlet.gather();
  while (out.bytes < bytes.size() && out.step == Step::kDone) {
    const auto rest = bytes.substr(out.bytes);
    release_buffers(ssl(), rest.size() <= SSL3_RT_MAX_PLAIN_LENGTH);
    std::size_t size = 0;
    out.step = after(SSL_write_ex(ssl(), rest.data(), rest.size(), &size));
    out.bytes += size;
  }
  switch (socket_->outlet.flush()) {
    case TlsOutlet::Sent::kAll: break;
    case TlsOutlet::Sent::kSome:
      if (out.step == Step::kDone) out.step = Step::kWaitsToWrite;
      break;
    case TlsOutlet::Sent::kFailed: out.step = Step::kEnded; break;
  }
  return out;
}

bool TlsStream::http2() const {
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl(), &name, &size);
  return std::string_view(reinterpret_cast<const char*>(name), size) == "h2";
}

Peer TlsStream::peer() const { return peer_of(ssl()); }

void TlsStream::forget_peer() { pki::forget_peer_certificates(ssl()); }

}  // namespace fleetadm::serve
