// What a hosted member's Secret says of its token and of its agent.
#include "core/agent/member_token.h"

#include <gtest/gtest.h>

#include "core/agent/member_args.h"
#include "core/api/hosted_member.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/config/kubeconfig.h"
#include "tests/support/fake_api.h"

namespace fleetadm::agent {
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

TEST(MemberArgs, EachFlagThatJoinMayWriteIsTaken) {
  const std::map<std::string_view, std::string> values{{"cluster-labels", "a=b"},
                                                       {"cluster-annotations", "agent.open-cluster-management.io/a=b"},
                                                       {"spoke-external-server-urls", "https://a,https://b"},
                                                       {"hub-connection-timeout", "10m"},
                                                       {"addon-driver", "token"},
                                                       {"agent-id", "x7k2p"},
                                                       {"reserved-cluster-claim-suffixes", "a,b"}};
  Json args = Json::array();
  for (const std::string_view flag : api::hosted_member_flags()) {
    const auto value = values.find(flag);
    args.push_back("--" + std::string(flag) + "=" + (value == values.end() ? "3600" : value->second));
    EXPECT_TRUE(api::check_hosted_member_arg(args.back().get<std::string>()));
  }
  AgentOptions options;
  const Status applied = apply_member_args(dump_json(args), options);
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_EQ(options.agent_id, "x7k2p");
  EXPECT_EQ(options.cluster_labels.at("a"), "b");
  EXPECT_EQ(options.external_server_urls, (std::vector<std::string>{"https://a", "https://b"}));
  EXPECT_EQ(options.hub_connection_timeout, std::chrono::minutes(10));
  EXPECT_EQ(options.client_cert_expiration_seconds, 3600);
  EXPECT_EQ(options.addon_driver, "token");
}

TEST(MemberArgs, WhatBelongsToTheProcessIsRefused) {
  AgentOptions options;
  EXPECT_TRUE(apply_member_args("", options));
  for (const char* args :
       {R"(["--health-address=:80"])", R"(["--hosted-from=x"])", R"(["--agent-id="])", R"(["agent-id=x"])",
        R"(["--client-cert-expiration-seconds=-1"])", R"(["--cluster-labels=a"])", R"([1])", R"({"a":1})", "x"}) {
    EXPECT_FALSE(apply_member_args(args, options)) << args;
  }
  EXPECT_FALSE(api::check_hosted_member_arg("--work-eviction-grace=1h"));
  EXPECT_FALSE(api::check_hosted_member_arg("--agent-id"));
  EXPECT_FALSE(api::check_hosted_member_arg("agent-id=x"));
}

}  // namespace
}  // namespace fleetadm::agent
