#include "core/sandbox/auth/tokens.h"

#include <gtest/gtest.h>

#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::sandbox {
namespace {

const Instant kNow = *parse_time("2026-01-02T03:04:05Z");

Json claims(int from, int until) {
  const auto now = unix_seconds(kNow);
  return {{"sub", "someone"}, {"nbf", now + from}, {"exp", now + until}};
}

TEST(TokenSigner, VerifiesItsOwnTokensForTheirTime) {
  const TokenSigner signer(*pki::generate_key());
  const auto token = signer.sign(claims(-10, 60));
  ASSERT_TRUE(token.has_value());
  const auto read = signer.verify(*token, kNow);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(str(**read, {"sub"}), "someone");
  EXPECT_FALSE(signer.verify(*token, kNow + std::chrono::seconds(61)).has_value());
  EXPECT_FALSE(signer.verify(*signer.sign(claims(10, 60)), kNow).has_value());
}

TEST(TokenSigner, NamesItsKeyInEveryToken) {
  const TokenSigner signer(*pki::generate_key());
  const auto key = signer.public_key();
  ASSERT_TRUE(key.has_value()) << key.error().message;
  const auto token = *signer.sign(claims(-10, 60));
  const auto header = parse_json(*base64url_decode(token.substr(0, token.find('.'))));
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(str(*header, {"alg"}), "ES256");
  EXPECT_EQ(str(*header, {"kid"}), str(*key, {"kid"}));
  EXPECT_EQ(str(*key, {"kty"}), "EC");
  EXPECT_EQ(str(*key, {"crv"}), "P-256");
  for (const char* coordinate : {"x", "y"}) EXPECT_EQ(base64url_decode(str(*key, {coordinate}))->size(), 32U) << coordinate;
  EXPECT_EQ(key->contains("d"), false);  // the private half stays here
  EXPECT_NE(str(*TokenSigner(*pki::generate_key()).public_key(), {"kid"}), str(*key, {"kid"}));
}

TEST(TokenSigner, RefusesWhatItDidNotSign) {
  const TokenSigner signer(*pki::generate_key());
  const TokenSigner other(*pki::generate_key());
  const auto token = *signer.sign(claims(-10, 60));
  EXPECT_FALSE(other.verify(token, kNow).has_value());
  EXPECT_TRUE(signer.verify(token, kNow).has_value());  // from here on its signature is known
  EXPECT_FALSE(signer.verify(token, kNow + std::chrono::seconds(61)).has_value());
  EXPECT_FALSE(other.verify(token, kNow).has_value());
  auto changed = token;
  changed[token.find('.') + 5] = changed[token.find('.') + 5] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(signer.verify(changed, kNow).has_value());
  // An unsigned token is none, whatever its header says.
  const auto unsigned_token = base64url_encode(R"({"alg":"none"})") + "." + base64url_encode(dump_json(claims(-10, 60))) + ".";
  for (const std::string& bad : {std::string(), std::string("x"), std::string("a.b"), std::string("a.b.c"), unsigned_token})
    EXPECT_FALSE(signer.verify(bad, kNow).has_value()) << bad;
}

}  // namespace
}  // namespace fleetadm::sandbox
