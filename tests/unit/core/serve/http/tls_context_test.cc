#include "core/serve/http/tls_context.h"

#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <string>

namespace fleetadm::serve {
namespace {

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using Ssl = std::unique_ptr<SSL, FreeSsl>;

/// The cipher that a server and a client with these preferences agree upon; without any, our own.
std::string agreed_cipher(const char* client_prefers) {
  const auto ca = *pki::make_ca("test", std::chrono::hours(1));
  pki::LeafOptions leaf;
  leaf.server = true;
  leaf.ip_addresses = {"127.0.0.1"};
  const auto server_tls = *make_server_tls(*pki::issue(ca, leaf), "");
  const auto client_tls = *make_client_tls({.ca = ca.certificate});
  const Ssl server(SSL_new(server_tls->native_handle()));
  const Ssl client(SSL_new(client_tls->native_handle()));
  if (client_prefers != nullptr && SSL_set_ciphersuites(client.get(), client_prefers) != 1) return "unknown";
  BIO* near = nullptr;
  BIO* far = nullptr;
  if (BIO_new_bio_pair(&near, 0, &far, 0) != 1) return "no BIO";
  SSL_set_bio(server.get(), near, near);
  SSL_set_bio(client.get(), far, far);
  SSL_set_accept_state(server.get());
  SSL_set_connect_state(client.get());
  for (int i = 0; i < 10 && (SSL_is_init_finished(client.get()) == 0 || SSL_is_init_finished(server.get()) == 0); ++i) {
    SSL_do_handshake(client.get());
    SSL_do_handshake(server.get());
  }
  return SSL_is_init_finished(server.get()) == 1 ? SSL_get_cipher_name(server.get()) : "no handshake";
}

TEST(TlsContext, PrefersTheCipherThatCostsLeast) {
  EXPECT_EQ(agreed_cipher(nullptr), "TLS_AES_128_GCM_SHA256");
  EXPECT_EQ(agreed_cipher("TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256"), "TLS_AES_128_GCM_SHA256");
}

TEST(TlsContext, TakesWhatAClientInsistsOn) {
  EXPECT_EQ(agreed_cipher("TLS_AES_256_GCM_SHA384"), "TLS_AES_256_GCM_SHA384");
  EXPECT_EQ(agreed_cipher("TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256"), "TLS_CHACHA20_POLY1305_SHA256");
}

}  // namespace
}  // namespace fleetadm::serve
