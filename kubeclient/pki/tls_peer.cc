#include "kubeclient/pki/tls_peer.h"

#include <array>
#include <openssl/err.h>
#include <string>

#include "kubeclient/pki/openssl.h"

namespace fleetadm::pki {
namespace {

using SessionPtr = std::unique_ptr<SSL_SESSION, Deleter<SSL_SESSION_free>>;

void clear(STACK_OF(X509) * certificates) {
  while (sk_X509_num(certificates) > 0) X509_free(sk_X509_pop(certificates));
}

/// The peer takes no records of the usual size: its session says so, and another one cannot be told.
bool has_short_records(const SSL_SESSION& session) {
  const auto agreed = SSL_SESSION_get_max_fragment_length(&session);
  return agreed >= TLSEXT_max_fragment_length_512 && agreed <= TLSEXT_max_fragment_length_4096;
}

/// What a connection still reads of its session, in DER; empty: that cannot be had.
std::string without_peer(const SSL_SESSION& session) {
  std::array<unsigned char, SSL_MAX_MASTER_KEY_LENGTH> key{};
  const auto key_size = SSL_SESSION_get_master_key(&session, key.data(), key.size());
  const SessionPtr bare(SSL_SESSION_new());
  const bool is_made = bare && SSL_SESSION_set_protocol_version(bare.get(), SSL_SESSION_get_protocol_version(&session)) == 1 &&
                       SSL_SESSION_set_cipher(bare.get(), SSL_SESSION_get0_cipher(&session)) == 1 &&
                       SSL_SESSION_set1_master_key(bare.get(), key.data(), key_size) == 1;
  OPENSSL_cleanse(key.data(), key.size());
  const int size = is_made ? i2d_SSL_SESSION(bare.get(), nullptr) : 0;
  if (size <= 0) return {};
  std::string der(static_cast<std::size_t>(size), '\0');
  auto* at = reinterpret_cast<unsigned char*>(der.data());
  i2d_SSL_SESSION(bare.get(), &at);
  return der;
}

}  // namespace

void forget_peer_certificates(SSL* ssl) {
  SSL_SESSION* session = SSL_get_session(ssl);
  if (session == nullptr || has_short_records(*session)) return;
  // There is no call for it. One session decoded into another takes the place of all that the other had.
  std::string der = without_peer(*session);
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  if (!der.empty()) d2i_SSL_SESSION(&session, &at, static_cast<long>(der.size()));
  OPENSSL_cleanse(der.data(), der.size());
  clear(SSL_get_peer_cert_chain(ssl));
  clear(SSL_get0_verified_chain(ssl));
  ERR_clear_error();
}

}  // namespace fleetadm::pki
