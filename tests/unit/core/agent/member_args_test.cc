// The arguments of `agent run` that a hosted member has for itself.
#include "core/agent/member_args.h"

#include <gtest/gtest.h>

#include "core/api/hosted_member.h"

namespace fleetadm::agent {
namespace {

TEST(MemberArgs, EachFlagThatJoinMayWriteIsTaken) {
  const std::map<std::string_view, std::string> values{{"cluster-labels", "a=b"},
                                                       {"cluster-annotations", "agent.open-cluster-management.io/a=b"},
                                                       {"spoke-external-server-urls", "https://a,https://b"},
                                                       {"hub-connection-timeout", "10m"},
                                                       {"addon-driver", "token"},
                                                       {"agent-id", "x7k2p"},
                                                       {"report-figures", "true"},
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
  EXPECT_TRUE(options.report_figures);
}

TEST(MemberArgs, WhatBelongsToTheProcessIsRefused) {
  AgentOptions options;
  EXPECT_TRUE(apply_member_args("", options));
  for (const char* args : {R"(["--health-address=:80"])", R"(["--hosted-from=x"])", R"(["--agent-id="])", R"(["agent-id=x"])",
                           R"(["--client-cert-expiration-seconds=-1"])", R"(["--cluster-labels=a"])", R"(["--report-figures=1"])",
                           R"([1])", R"({"a":1})", "x"}) {
    EXPECT_FALSE(apply_member_args(args, options)) << args;
  }
  EXPECT_FALSE(api::check_hosted_member_arg("--work-eviction-grace=1h"));
  EXPECT_FALSE(api::check_hosted_member_arg("--agent-id"));
  EXPECT_FALSE(api::check_hosted_member_arg("agent-id=x"));
}

}  // namespace
}  // namespace fleetadm::agent
