// What a hosted member's Secret says of its token.
#include "core/registration/join/member_token.h"

#include <gtest/gtest.h>

#include "kubeclient/base/encoding.h"
#include "kubeclient/config/kubeconfig.h"
#include "tests/support/fake_api.h"

namespace fleetadm::join {
namespace {

using std::chrono::seconds;

std::string token_of(std::int64_t issued, std::int64_t expires, const std::string& uid = "u") {
  const Json claims{{"iat", issued},
                    {"exp", expires},
                    {"kubernetes.io", {{"namespace", "agents"}, {"serviceaccount", {{"name", "fleetadm-agent"}, {"uid", uid}}}}}};
  return "e30." + base64url_encode(dump_json(claims)) + ".signature";
}

std::string kubeconfig_with(const std::string& token) {
  return dump_json(kube::make_kubeconfig("https://member:6443", "", {{"token", token}}));
}

/// A member that answers TokenRequests with this token.
std::shared_ptr<testkit::FakeApi> member_with(const std::string& token) {
  auto api = testkit::FakeApi::make();
  api->on_request([token](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (call.subresource != "token") return std::nullopt;
    return kube::Response{201, {}, dump_json(Json{{"kind", "TokenRequest"}, {"status", {{"token", token}}}})};
  });
  return api;
}

TEST(MemberToken, IsRenewedAfterFourFifthsOfItsLife) {
  EXPECT_EQ(renew_token_at(token_of(1000, 2000)), Instant(seconds(1800)));
  EXPECT_FALSE(renew_token_at("opaque"));
  EXPECT_FALSE(renew_token_at(""));
}

TEST(MemberToken, IsReplacedByOneOfTheSameAccountAndLifetime) {
  const auto api = member_with(token_of(1800, 2800));
  const auto renewed = with_new_token(kubeconfig_with(token_of(1000, 2000)), api->client(), Instant(seconds(1900)));
  ASSERT_TRUE(renewed) << renewed.error().message;
  const auto access = member_access(*renewed);
  ASSERT_TRUE(access);
  EXPECT_EQ(access->credentials.token, token_of(1800, 2800));
  EXPECT_EQ(access->config.server, "https://member:6443");
  EXPECT_EQ(access->frame, member_access(kubeconfig_with("other"))->frame) << "only the token differs";
  const auto calls = api->writes();
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].path, "/api/v1/namespaces/agents/serviceaccounts/fleetadm-agent/token");
  EXPECT_EQ(num(calls[0].body, {"spec", "expirationSeconds"}), 1000);
}

TEST(MemberToken, OfAnotherAccountOrOneThatHasEndedIsNotTaken) {
  const std::string now = kubeconfig_with(token_of(1000, 2000));
  for (const std::string& answer :
       {token_of(1800, 2800, "another"), token_of(1000, 1850), std::string("opaque"), std::string()}) {
    const auto renewed = with_new_token(now, member_with(answer)->client(), Instant(seconds(1900)));
    ASSERT_FALSE(renewed) << answer;
    EXPECT_EQ(renewed.error().message.find(token_of(1000, 2000)), std::string::npos);
  }
}

}  // namespace
}  // namespace fleetadm::join
