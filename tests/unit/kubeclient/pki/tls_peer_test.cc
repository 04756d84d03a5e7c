#include "kubeclient/pki/tls_peer.h"

#include <array>
#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <openssl/bio.h>
#include <string>
#include <string_view>

#include "kubeclient/pki/openssl.h"

namespace fleetadm::pki {
namespace {

using ContextPtr = std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, Deleter<SSL_free>>;

ContextPtr context_of(const SSL_METHOD* method, const KeyPair& ca, int version) {
  const LeafOptions leaf{.server = true, .client = true};
  const auto pair = *issue(ca, leaf);
  ContextPtr made(SSL_CTX_new(method));
  SSL_CTX_set_min_proto_version(made.get(), version);
  SSL_CTX_set_max_proto_version(made.get(), version);
  SSL_CTX_use_certificate(made.get(), read_certificate(pair.certificate)->get());
  SSL_CTX_use_PrivateKey(made.get(), read_private_key(pair.key)->get());
  SSL_CTX_set_session_cache_mode(made.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(made.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(made.get()), read_certificate(ca.certificate)->get());
  return made;
}

/// Two ends that have shown each other their certificates.
class TlsPeer : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    BIO* near = nullptr;
    BIO* far = nullptr;
    ASSERT_EQ(BIO_new_bio_pair(&near, 64 * 1024, &far, 64 * 1024), 1);
    SSL_set_bio(server_.get(), near, near);
    SSL_set_bio(client_.get(), far, far);
    SSL_set_accept_state(server_.get());
    SSL_set_connect_state(client_.get());
    for (int i = 0; i < 10; ++i) {
      SSL_do_handshake(client_.get());
      SSL_do_handshake(server_.get());
    }
    ASSERT_EQ(SSL_is_init_finished(server_.get()), 1);
    ASSERT_EQ(SSL_is_init_finished(client_.get()), 1);
  }

  static bool passes(const SslPtr& from, const SslPtr& to, std::string_view text) {
    std::size_t sent = 0;
    std::string got;
    std::array<char, 16 * 1024> some{};
    if (SSL_write_ex(from.get(), text.data(), text.size(), &sent) != 1 || sent != text.size()) return false;
    for (std::size_t size = 0; SSL_read_ex(to.get(), some.data(), some.size(), &size) == 1;) got.append(some.data(), size);
    return got == text;
  }
  static std::string exported(const SslPtr& ssl) {
    std::array<unsigned char, 32> out{};
    const std::string_view label = "test";
    SSL_export_keying_material(ssl.get(), out.data(), out.size(), label.data(), label.size(), nullptr, 0, 0);
    return {out.begin(), out.end()};
  }

  const KeyPair ca_ = *make_ca("test", std::chrono::hours(1));
  const ContextPtr server_context_ = context_of(TLS_server_method(), ca_, GetParam());
  const ContextPtr client_context_ = context_of(TLS_client_method(), ca_, GetParam());
  const SslPtr server_{SSL_new(server_context_.get())};
  const SslPtr client_{SSL_new(client_context_.get())};
};

TEST_P(TlsPeer, IsForgottenWhileTheConnectionGoesOn) {
  const std::string cipher = SSL_get_cipher_name(server_.get());
  const std::string before = exported(server_);
  for (const auto& end : {server_.get(), client_.get()}) {
    ASSERT_NE(SSL_get0_peer_certificate(end), nullptr);
    forget_peer_certificates(end);
    EXPECT_EQ(SSL_get0_peer_certificate(end), nullptr);
    EXPECT_LE(sk_X509_num(SSL_get_peer_cert_chain(end)), 0);
    EXPECT_LE(sk_X509_num(SSL_get0_verified_chain(end)), 0);
    EXPECT_EQ(SSL_get_verify_result(end), X509_V_OK);
    EXPECT_EQ(SSL_get_cipher_name(end), cipher);
  }
  EXPECT_EQ(exported(server_), before);
  EXPECT_EQ(exported(client_), before);
  const std::string large(40'000, 'x');
  EXPECT_TRUE(passes(client_, server_, "asked"));
  EXPECT_TRUE(passes(server_, client_, large));
  if (GetParam() != TLS1_3_VERSION) return;
  EXPECT_EQ(SSL_key_update(server_.get(), SSL_KEY_UPDATE_REQUESTED), 1);
  EXPECT_TRUE(passes(server_, client_, large));
  EXPECT_TRUE(passes(client_, server_, large));
}

INSTANTIATE_TEST_SUITE_P(Versions, TlsPeer, testing::Values(TLS1_2_VERSION, TLS1_3_VERSION));

}  // namespace
}  // namespace fleetadm::pki
