#include "commands/fleet/pod_flags.h"

#include <gtest/gtest.h>

namespace fleetadm::commands {
namespace {

TEST(PodFlags, WhatCannotBeIsRefused) {
  for (const PodOptions& wrong :
       {PodOptions{.node_selector = {"role"}}, PodOptions{.node_selector = {"a b=c"}}, PodOptions{.tolerations = {"x:Never"}},
        PodOptions{.priority_class = "No_Name"}, PodOptions{.https_proxy = "proxy:3128"}, PodOptions{.http_proxy = "http://"},
        PodOptions{.https_proxy = "http://a b"}, PodOptions{.no_proxy = "x"}}) {
    const Status checked = validate_pod_options(wrong);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().category, Category::kUsage) << checked.error().message;
  }
  // A URL may hold a password.
  EXPECT_EQ(check_proxy_url("--https-proxy", "ftp://me:secret@proxy").error().message.find("secret"), std::string::npos);
}

TEST(PodFlags, WordsBecomeWhatAPodSays) {
  const PodOptions options{.node_selector = {"role=infra"},
                           .tolerations = {"infra", "dedicated=fleet:NoExecute"},
                           .https_proxy = "socks5://proxy:1080"};
  ASSERT_TRUE(validate_pod_options(options));
  const install::PodSettings settings = pod_settings(options);
  EXPECT_EQ(settings.node_selector, Json({{"role", "infra"}}));
  const Json dedicated{{"key", "dedicated"}, {"operator", "Equal"}, {"value", "fleet"}, {"effect", "NoExecute"}};
  EXPECT_EQ(settings.tolerations, Json::array({{{"key", "infra"}, {"operator", "Exists"}}, dedicated}));
}

}  // namespace
}  // namespace fleetadm::commands
