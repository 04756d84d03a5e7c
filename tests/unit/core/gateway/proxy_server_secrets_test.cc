#include "core/api/proxy_server_secrets.h"

#include <gtest/gtest.h>

namespace fleetadm::api {
namespace {

TEST(ProxyServerSecrets, AreUpstreamsUnlessTheConfigurationNamesOthers) {
  const ProxyServerSecrets usual = proxy_server_secrets(Json::object());
  EXPECT_EQ(usual.ns, "open-cluster-management-cluster-proxy");
  EXPECT_EQ(usual.ca, "proxy-server-ca");
  EXPECT_EQ(usual.front, "proxy-server");
  EXPECT_EQ(usual.agents, "agent-server");
  EXPECT_EQ(usual.client, "proxy-client");
  const ProxyServerSecrets named = proxy_server_secrets({{"spec",
                                                          {{"proxyServer", {{"namespace", "elsewhere"}}},
                                                           {"authentication",
                                                            {{"dump",
                                                              {{"secrets",
                                                                {{"signingProxyServerSecretName", "f"},
                                                                 {"signingAgentServerSecretName", "a"},
                                                                 {"signingProxyClientSecretName", "c"}}}}}}}}}});
  EXPECT_EQ(named.ns, "elsewhere");
  EXPECT_EQ(named.ca, "proxy-server-ca") << "its name is fixed";
  EXPECT_EQ(named.front, "f");
  EXPECT_EQ(named.agents, "a");
  EXPECT_EQ(named.client, "c");
}

}  // namespace
}  // namespace fleetadm::api
