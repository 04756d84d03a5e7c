#include "kubeclient/transport/tls_stream.h"

#include <array>
#include <cerrno>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <system_error>
#include <utility>

#include "kubeclient/base/ip_address.h"
#include "kubeclient/pki/openssl.h"
#include "kubeclient/pki/tls_peer.h"
#include "kubeclient/transport/trust_store.h"

namespace fleetadm::kube {
namespace {

constexpr std::string_view kHttp2 = "h2";
constexpr std::array<unsigned char, 12> kProtocols = {2, 'h', '2', 8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
constexpr std::size_t kLongestError = 256;

/// Of the process: what differs from one connection to the next is set on each of them.
SSL_CTX* context() {
  static SSL_CTX* const kContext = [] {
    SSL_CTX* const made = SSL_CTX_new(TLS_client_method());
    if (made == nullptr) return made;
    SSL_CTX_set_min_proto_version(made, TLS1_2_VERSION);
    SSL_CTX_set_verify(made, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_options(made, SSL_OP_NO_RENEGOTIATION);
    // A connection that is idle holds no buffers.
    SSL_CTX_set_mode(made, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead(made, 1);
    SSL_CTX_set_alpn_protos(made, kProtocols.data(), kProtocols.size());
    return made;
  }();
  return kContext;
}

std::string last_openssl_error() {
  std::array<char, kLongestError> text{};
  const unsigned long code = ERR_get_error();
  if (code == 0) return {};
  ERR_error_string_n(code, text.data(), text.size());
  ERR_clear_error();
  return text.data();
}

CurlFailure failure_with(CURLcode code, std::string detail) {
  CurlFailure failure;
  failure.code = code;
  failure.detail = std::move(detail);
  return failure;
}

/// The name that the certificate is checked against, and for a host name the one that is asked for.
bool expect_name(SSL* ssl, std::string name) {
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  X509_VERIFY_PARAM* const checks = SSL_get0_param(ssl);
  if (auto address = IpAddress::parse(name)) {
    address->zone.clear();
    return X509_VERIFY_PARAM_set1_ip_asc(checks, address->to_string().c_str()) == 1;
  }
  if (name.ends_with('.')) name.pop_back();
  if (name.empty()) return false;  // an empty one would switch the check off
  X509_VERIFY_PARAM_set_hostflags(checks, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  // SSL_set_tlsext_host_name() has a cast of C's; the name is copied.
  const long asked = SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
  return X509_VERIFY_PARAM_set1_host(checks, name.c_str(), name.size()) == 1 && asked == 1;
}

Status use_certificate(SSL* ssl, const Credentials& credentials) {
  FLEETADM_TRY(const auto blocks, pki::read_pem(credentials.client_certificate, false));
  bool has_leaf = false;
  for (const pki::PemBlock& block : blocks) {
    if (block.label != "CERTIFICATE") continue;
    FLEETADM_TRY(const auto certificate, pki::read_certificate_der(block.der));
    const auto used = has_leaf ? SSL_add1_chain_cert(ssl, certificate.get()) : SSL_use_certificate(ssl, certificate.get());
    if (used != 1) return pki::openssl_failure("the certificate cannot be used");
    has_leaf = true;
  }
  if (!has_leaf) return fail(Category::kInvalid, "there is no certificate in it");
  FLEETADM_TRY(const auto key, pki::read_private_key(credentials.client_key));
  if (SSL_use_PrivateKey(ssl, key.get()) != 1) return pki::openssl_failure("the key does not belong to the certificate");
  return {};
}

}  // namespace

tl::expected<TlsStream, CurlFailure> TlsStream::make(OwnedFd socket, const TlsPeer& peer, const Credentials& credentials) {
  ERR_clear_error();
  SSL_CTX* const shared = context();
  std::unique_ptr<SSL, Free> ssl(shared != nullptr ? SSL_new(shared) : nullptr);
  if (!ssl || SSL_set_fd(ssl.get(), socket.get()) != 1)
    return tl::unexpected(failure_with(CURLE_OUT_OF_MEMORY, last_openssl_error()));
  const auto trusted = trust_store(peer.ca_pem);
  if (!trusted || SSL_set1_verify_cert_store(ssl.get(), trusted.get()) != 1)
    return tl::unexpected(failure_with(CURLE_SSL_CACERT_BADFILE, last_openssl_error()));
  if (!expect_name(ssl.get(), peer.name)) {
    ERR_clear_error();
    return tl::unexpected(failure_with(CURLE_URL_MALFORMAT, "its name cannot be checked"));
  }
  if (!credentials.client_certificate.empty()) {
    if (const Status used = use_certificate(ssl.get(), credentials); !used)
      return tl::unexpected(failure_with(CURLE_SSL_CERTPROBLEM, used.error().message));
  }
  SSL_set_connect_state(ssl.get());
  return TlsStream(std::move(socket), std::move(ssl));
}

TlsStream::Step TlsStream::fail_or_wait(int result, CURLcode code) {
  const int os_error = errno;
  const int reason = SSL_get_error(ssl_.get(), result);
  if (reason == SSL_ERROR_WANT_READ) return Step::kWantsRead;
  if (reason == SSL_ERROR_WANT_WRITE) return Step::kWantsWrite;
  failure_ = failure_with(code, last_openssl_error());
  failure_.connected = established_;
  if (reason == SSL_ERROR_SYSCALL) failure_.os_error = os_error;
  if (!established_ && failure_.detail.empty()) failure_.detail = "SSL_ERROR_SYSCALL";
  if (failure_.detail.empty())
    failure_.detail = failure_.os_error != 0 ? std::generic_category().message(os_error) : "the server closed it";
  return Step::kFailed;
}

TlsStream::Step TlsStream::handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) {
    established_ = true;
    SSL_set1_verify_cert_store(ssl_.get(), nullptr);  // nothing is to be verified any more
    pki::forget_peer_certificates(ssl_.get());
    return Step::kDone;
  }
  const Step step = fail_or_wait(result, CURLE_SSL_CONNECT_ERROR);
  if (step != Step::kFailed) return step;
  failure_.verify_result = SSL_get_verify_result(ssl_.get());
  const bool is_name =
      failure_.verify_result == X509_V_ERR_HOSTNAME_MISMATCH || failure_.verify_result == X509_V_ERR_IP_ADDRESS_MISMATCH;
  if (failure_.verify_result != X509_V_OK) failure_.code = CURLE_PEER_FAILED_VERIFICATION;
  if (is_name) failure_.detail = "no alternative certificate subject name matches";
  return step;
}

bool TlsStream::speaks_http2() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &size);
  return std::string_view(reinterpret_cast<const char*>(name), size) == kHttp2;
}

TlsStream::Step TlsStream::read(std::span<char> into, std::size_t& count) {
  ERR_clear_error();
  count = 0;
  const int result = SSL_read_ex(ssl_.get(), into.data(), into.size(), &count);
  return result == 1 ? Step::kDone : fail_or_wait(result, CURLE_RECV_ERROR);
}

TlsStream::Step TlsStream::write(std::string_view bytes, std::size_t& count) {
  ERR_clear_error();
  count = 0;
  const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count);
  return result == 1 ? Step::kDone : fail_or_wait(result, CURLE_SEND_ERROR);
}

void TlsStream::shut_down() {
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

}  // namespace fleetadm::kube
