#include "kubeclient/base/token_claims.h"

#include <gtest/gtest.h>
#include <limits>

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/json.h"

namespace fleetadm {
namespace {

std::string token_of(const Json& claims) { return "e30." + base64url_encode(dump_json(claims)) + ".signature"; }

TEST(TokenClaims, AreReadOfServiceAccountTokensOnly) {
  EXPECT_FALSE(token_claims(""));
  EXPECT_FALSE(token_claims("a.b"));
  EXPECT_FALSE(token_claims("a.b.c"));
  EXPECT_FALSE(token_claims("e30.e30.x"));
  EXPECT_FALSE(token_claims(token_of({{"iat", 100}, {"exp", 700}, {"sub", "jane"}})));
  EXPECT_FALSE(token_claims(token_of({{"iat", 100}, {"kubernetes.io", {{"serviceaccount", {{"uid", "u"}}}}}})));
}

TEST(TokenClaims, AreNotOfTimesThatCannotBe) {
  const auto lasting = [](std::int64_t from, std::int64_t to) {
    return token_claims(token_of({{"iat", from}, {"exp", to}, {"kubernetes.io", {{"serviceaccount", {{"uid", "u"}}}}}}));
  };
  EXPECT_FALSE(lasting(700, 700));
  EXPECT_FALSE(lasting(-1, 700));
  EXPECT_FALSE(lasting(100, std::numeric_limits<std::int64_t>::max()));
  EXPECT_TRUE(lasting(100, 4'900'000'000));
}

TEST(TokenClaims, SayWhoseItIsAndHowLongItLasts) {
  const auto claims =
      token_claims(token_of({{"iat", 100}, {"exp", 700}, {"kubernetes.io", {{"serviceaccount", {{"uid", "u"}}}}}}));
  ASSERT_TRUE(claims);
  EXPECT_EQ(claims->account_uid, "u");
  EXPECT_EQ(format_time(claims->issued), "1970-01-01T00:01:40Z");
  EXPECT_EQ(claims->expires - claims->issued, std::chrono::minutes(10));
}

TEST(JwtClaims, SayForWhomAndUntilWhen) {
  EXPECT_FALSE(jwt_claims("opaque"));
  EXPECT_FALSE(jwt_claims("e30.W10.x")) << "no object";
  const auto one = jwt_claims(token_of({{"aud", "a"}, {"exp", 700}}));
  ASSERT_TRUE(one);
  EXPECT_EQ(one->audiences, std::vector<std::string>{"a"});
  ASSERT_TRUE(one->expires);
  EXPECT_EQ(format_time(*one->expires), "1970-01-01T00:11:40Z");
  const auto two = jwt_claims(token_of({{"aud", {"a", "b"}}}));
  ASSERT_TRUE(two);
  EXPECT_EQ(two->audiences, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(two->expires);
  EXPECT_TRUE(jwt_claims(token_of({{"exp", std::numeric_limits<std::int64_t>::max()}}))->expires);
}

}  // namespace
}  // namespace fleetadm
