// What the agent reads in the Deployment that a hub's manager of cluster-proxy sends.
#include "core/proxy/addon/proxy_agent.h"

#include <gtest/gtest.h>

#include "core/proxy/konnectivity/identifiers.h"

namespace fleetadm::proxy {
namespace {

Json container(const char* name, const std::vector<std::string>& args) { return {{"name", name}, {"args", args}}; }

Json deployment(const std::vector<Json>& containers) {
  return {{"spec", {{"replicas", 2}, {"template", {{"spec", {{"containers", containers}}}}}}}};
}

TEST(ProxyAgentSettings, AreThoseOfTheDeployment) {
  const std::string host = konnectivity::service_proxy_host("c1");
  const auto read = read_proxy_agent(
      deployment({container("proxy-agent", {"--proxy-server-host=hub.example.com", "--proxy-server-port=8091",
                                            "--agent-identifiers=host=" + host + "&host=c1&host=c1.addons", "--v=4"}),
                  container("addon-agent", {"--cluster-name=c1", "--proxy-server-namespace=proxies"}),
                  container("service-proxy", {"service-proxy", "--enable-impersonation=true"})}),
      "c1");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->host, "hub.example.com");
  EXPECT_EQ(read->port, "8091");
  EXPECT_EQ(read->identifiers, "host=" + host + "&host=c1&host=c1.addons");
  EXPECT_EQ(read->names, (std::vector<std::string>{"c1", "c1.addons"}));
  EXPECT_EQ(read->proxy_ns, "proxies");
  EXPECT_FALSE(read->by_port_forward);
  EXPECT_TRUE(read->serves_requests);
  EXPECT_TRUE(read->takes_hub_tokens);
  EXPECT_EQ(read->replicas, 2);
}

TEST(ProxyAgentSettings, NamesOfOtherClustersAreNotAnnounced) {
  const auto read = read_proxy_agent(
      deployment({container("proxy-agent", {"--proxy-server-host=10.0.0.1", "--proxy-server-port=443",
                                            "--agent-identifiers=host=c2&host=c1&default-route=true&cidr=0.0.0.0/0"}),
                  container("addon-agent", {"--enable-port-forward-proxy=true"})}),
      "c1");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->identifiers, "host=c1");
  EXPECT_TRUE(read->by_port_forward);
  EXPECT_FALSE(read->serves_requests);
  EXPECT_FALSE(read->takes_hub_tokens);
}

TEST(ProxyAgentSettings, WhatSaysNothingIsRefused) {
  const std::vector<std::vector<std::string>> all = {
      {},
      {"--proxy-server-host=h", "--agent-identifiers=host=c1"},
      {"--proxy-server-port=8091", "--agent-identifiers=host=c1"},
      {"--proxy-server-host=h", "--proxy-server-port=0", "--agent-identifiers=host=c1"},
      {"--proxy-server-host=h", "--proxy-server-port=70000", "--agent-identifiers=host=c1"},
      {"--proxy-server-host=h", "--proxy-server-port=8091", "--agent-identifiers=host=c2"},
      {"--proxy-server-host=h", "--proxy-server-port=8091"},
  };
  for (const auto& args : all) EXPECT_FALSE(read_proxy_agent(deployment({container("proxy-agent", args)}), "c1")) << args.size();
  EXPECT_FALSE(read_proxy_agent(Json::object(), "c1"));
}

}  // namespace
}  // namespace fleetadm::proxy
