#include "core/serve/http/tls_context.h"

#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/openssl.h"
#include "kubeclient/pki/system_roots.h"

namespace fleetadm::serve {
namespace {

namespace asio = boost::asio;

/// All that OpenSSL has for TLS 1.3, the one that costs least first, as Go's servers and clients have it.
constexpr const char* kCiphers = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

/// Of both ends: buffers are gone while a connection is idle. What is read ahead is the stream's (tls_inlet.h).
void tune(SSL_CTX* context) {
  SSL_CTX_set_ciphersuites(context, kCiphers);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

Status use_pem(SSL_CTX* context, const pki::KeyPair& certificate, const std::string& client_ca, asio::ssl::context& tls) {
  boost::system::error_code error;
  tls.use_certificate_chain(asio::buffer(certificate.certificate), error);
  if (!error) {
    FLEETADM_TRY(const pki::KeyPtr key, pki::read_private_key(certificate.key));
    if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
      return pki::openssl_failure("the server's certificate: its private key", Category::kTls);
    }
  }
  if (!error && !client_ca.empty()) {
    tls.add_certificate_authority(asio::buffer(client_ca), error);
    // A bad client certificate is the API's to refuse (401), as the request may carry a token beside it.
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
  }
  if (error) return fail(Category::kTls, "the server's certificate: " + error.message());
  return {};
}

int choose_alpn(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* offered, unsigned int offered_size,
                void*) {
  static constexpr unsigned char kOurs[] = "\x02h2\x08http/1.1";
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, size, kOurs, sizeof(kOurs) - 1, offered, offered_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

Result<std::shared_ptr<asio::ssl::context>> make_server_tls(const pki::KeyPair& certificate, const std::string& client_ca,
                                                            bool only_tls13) {
  auto tls = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX* context = tls->native_handle();
  SSL_CTX_set_min_proto_version(context, only_tls13 ? TLS1_3_VERSION : TLS1_2_VERSION);
  // No resumption: who a client is gets checked on every connection.
  // The order of ciphers is the server's, but for clients that put ChaCha20 first: they have no AES in their processors.
  SSL_CTX_set_options(context,
                      SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  tune(context);
  SSL_CTX_set_alpn_select_cb(context, choose_alpn, nullptr);
  FLEETADM_CHECK(use_pem(context, certificate, client_ca, *tls));
  return tls;
}

Result<std::shared_ptr<asio::ssl::context>> make_client_tls(const ClientTls& options) {
  auto tls = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
  SSL_CTX* context = tls->native_handle();
  SSL_CTX_set_min_proto_version(context, options.only_tls13 ? TLS1_3_VERSION : TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
  tune(context);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  const std::string_view protocols = options.http2 ? "\x02h2" : "\x08http/1.1";
  SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(protocols.data()),
                          static_cast<unsigned int>(protocols.size()));
  boost::system::error_code error;
  if (options.ca.empty()) {
    const std::string roots = pki::system_roots_file();
    if (roots.empty()) {
      tls->set_default_verify_paths(error);
    } else {
      tls->load_verify_file(roots, error);
    }
  } else {
    tls->add_certificate_authority(asio::buffer(options.ca), error);
  }
  if (error) return fail(Category::kTls, "the certificate authority of the server: " + error.message());
  if (options.certificate.certificate.empty()) return tls;
  tls->use_certificate_chain(asio::buffer(options.certificate.certificate), error);
  if (error) return fail(Category::kTls, "the client's certificate: " + error.message());
  FLEETADM_TRY(const pki::KeyPtr key, pki::read_private_key(options.certificate.key));
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1)
    return pki::openssl_failure("the client's certificate: its private key", Category::kTls);
  return tls;
}

Peer peer_of(SSL* ssl) {
  Peer peer;
  X509* certificate = SSL_get0_peer_certificate(ssl);
  if (certificate == nullptr) return peer;
  peer.certificate = Peer::Certificate::kInvalid;
  unsigned char* der = nullptr;
  const int size = i2d_X509(certificate, &der);
  if (size <= 0) return peer;
  const std::string bytes(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  peer.sha256 = sha256_hex(bytes);
  pki::Subject subject = pki::read_name(*X509_get_subject_name(certificate));
  peer.common_name = std::move(subject.common_name);
  peer.organizations = std::move(subject.organizations);
  if (SSL_get_verify_result(ssl) == X509_V_OK) peer.certificate = Peer::Certificate::kValid;
  return peer;
}

}  // namespace fleetadm::serve
