#include "core/proxy/client/gateway_access.h"

#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "tests/support/fake_api.h"

namespace fleetadm::proxy {
namespace {

class GatewayAccess : public testing::Test {
 protected:
  void publish(const Json& data) {
    api->put(kube::resources::config_maps(),
             {{"metadata", {{"name", std::string(api::kGatewayConfigMap)}, {"namespace", std::string(api::kHubNamespace)}}},
              {"data", data}});
  }
  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make();
};

TEST_F(GatewayAccess, SaysWhatIsMissing) {
  auto found = find_gateway(api->client());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().category, Category::kNotFound);
  EXPECT_NE(found.error().hint.find("fleetadm init --gateway"), std::string::npos);

  publish(Json::object());
  found = find_gateway(api->client());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().category, Category::kUnavailable);

  publish({{"server", "http://gateway:8443"}, {"ca.crt", "PEM"}});
  found = find_gateway(api->client());
  ASSERT_FALSE(found) << "credentials would go out in clear text";
  EXPECT_EQ(found.error().category, Category::kInvalid);
}

TEST_F(GatewayAccess, AMemberIsThePrefixWithTheCredentialsOfTheHub) {
  publish({{"server", "https://gateway:8443"}, {"ca.crt", "PEM of the gateway"}, {"tunnel", "gateway:8444\n"}});
  const auto gateway = find_gateway(api->client());
  ASSERT_TRUE(gateway) << gateway.error().message;
  kube::RestConfig hub;
  hub.server = "https://hub:6443";
  hub.ca_data = "PEM of the hub";
  hub.tls_server_name = "hub";
  hub.default_namespace = "of-the-hub";
  hub.proxy_url = "http://proxy:3128";
  hub.impersonate_user = "jane";
  hub.credentials = kube::static_credentials({.token = "t"});
  const auto member = member_config(hub, *gateway, "c1");
  ASSERT_TRUE(member) << member.error().message;
  EXPECT_EQ(member->server, "https://gateway:8443/clusters/c1/proxy");
  EXPECT_EQ(member->ca_data, "PEM of the gateway");
  EXPECT_EQ(member->tls_server_name, "");
  EXPECT_EQ(member->default_namespace, "");
  EXPECT_EQ(member->proxy_url, "http://proxy:3128");
  EXPECT_EQ(member->impersonate_user, "jane");
  EXPECT_EQ(member->credentials, hub.credentials);
  EXPECT_EQ(member->name, "c1");
}

TEST_F(GatewayAccess, ANameThatNoClusterHasIsNeverPartOfAPath) {
  for (const char* name : {"", "..", "c1/../c2", "C1", "c1%2f", "c1 ", "c1?"}) {
    const auto prefix = member_prefix(name);
    ASSERT_FALSE(prefix) << name;
    EXPECT_EQ(prefix.error().category, Category::kUsage);
  }
  EXPECT_EQ(member_prefix("a.b-c").value(), "/clusters/a.b-c/proxy");
}

}  // namespace
}  // namespace fleetadm::proxy
