#include "core/proxy/client/upstream_proxy.h"

#include <gtest/gtest.h>

#include "core/api/cluster_proxy.h"
#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/fake_api.h"

namespace fleetadm::proxy {
namespace {

class UpstreamProxyTest : public testing::Test {
 protected:
  void configure(Json spec) {
    hub->put(api::managed_proxy_configurations(), {{"metadata", {{"name", "cluster-proxy"}}}, {"spec", std::move(spec)}});
  }
  void secret(const std::string& name, Json data, const std::string& ns = kNs) {
    for (Json& value : data) value = base64_encode(value.get<std::string>());
    hub->put(kube::resources::secrets(), {{"metadata", {{"name", name}, {"namespace", ns}}}, {"data", std::move(data)}});
  }
  void service(const std::string& name, Json spec, Json status = Json::object(), const std::string& ns = kNs) {
    hub->put(kube::resources::services(),
             {{"metadata", {{"name", name}, {"namespace", ns}}}, {"spec", std::move(spec)}, {"status", std::move(status)}});
  }
  static Json ports(int port) { return Json::array({{{"port", port}, {"targetPort", port}}}); }
  Result<std::optional<UpstreamProxy>> find(bool in_cluster = false) { return find_upstream_proxy(hub->client(), in_cluster); }

  static constexpr const char* kNs = "open-cluster-management-cluster-proxy";
  std::shared_ptr<testkit::FakeApi> hub = testkit::FakeApi::make();
};

TEST_F(UpstreamProxyTest, AHubWithoutAConfigurationHasNone) {
  const auto found = find();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_FALSE(*found);
  hub->fail_next("get", "managedproxyconfigurations", 403, "Forbidden");
  EXPECT_FALSE(*find()) << "who may not read it cannot use it";
  hub->fail_next("get", "managedproxyconfigurations", 500, "InternalError");
  EXPECT_FALSE(find()) << "this says nothing";
}

TEST_F(UpstreamProxyTest, WithoutAddressesTheServersAreReachedByTheirPods) {
  configure(Json::object());
  secret("proxy-server-ca", {{"ca.crt", "PEM"}});
  service("proxy-entrypoint", {{"type", "ClusterIP"}, {"selector", {{"a", "b"}, {"c", "d"}}}, {"ports", ports(8090)}});
  auto found = find();
  ASSERT_TRUE(found && *found) << found.error().message;
  EXPECT_EQ((*found)->ns, kNs);
  EXPECT_EQ((*found)->ca, "PEM");
  EXPECT_EQ((*found)->client_secret, "proxy-client");
  EXPECT_FALSE((*found)->user_server);
  ASSERT_TRUE((*found)->front_end);
  EXPECT_EQ((*found)->front_end->host, "");
  EXPECT_EQ((*found)->front_end->pods.selector, "a=b,c=d");
  EXPECT_EQ((*found)->front_end->pods.port, 8090);
  EXPECT_EQ((*found)->front_end->server_name, std::string("proxy-entrypoint.") + kNs + ".svc");
  service("cluster-proxy-addon-user", {{"selector", {{"x", "y"}}}, {"ports", ports(9092)}});
  found = find(true);
  ASSERT_TRUE(found && *found && (*found)->user_server);
  EXPECT_EQ((*found)->user_server->host, std::string("cluster-proxy-addon-user.") + kNs + ".svc") << "in a pod of the hub";
  EXPECT_EQ((*found)->user_server->port, 9092);
}

TEST_F(UpstreamProxyTest, TheConfigurationNamesWhatIsElsewhere) {
  configure({{"proxyServer",
              {{"namespace", "px"},
               {"inClusterServiceName", "inside"},
               {"entrypoint", {{"type", "LoadBalancerService"}, {"loadBalancerService", {{"name", "outside"}}}}}}},
             {"authentication", {{"dump", {{"secrets", {{"signingProxyClientSecretName", "who"}}}}}}}});
  secret("proxy-server-ca", {{"ca.crt", "PEM"}}, "px");
  secret("who", {{"tls.crt", "CERT"}, {"tls.key", "KEY"}}, "px");
  service("inside", {{"selector", {{"a", "b"}}}, {"ports", ports(8090)}}, {}, "px");
  service("outside", {{"type", "LoadBalancer"}, {"ports", ports(8090)}},
          {{"loadBalancer", {{"ingress", Json::array({{{"hostname", "lb.example.com"}}})}}}}, "px");
  const auto found = find();
  ASSERT_TRUE(found && *found) << found.error().message;
  EXPECT_EQ((*found)->front_end->host, "lb.example.com");
  EXPECT_EQ((*found)->front_end->server_name, "inside.px.svc") << "agents have no certificate for that";
  const auto certificate = front_end_certificate(hub->client(), **found);
  ASSERT_TRUE(certificate) << certificate.error().message;
  EXPECT_EQ(certificate->certificate, "CERT");
  EXPECT_EQ(certificate->key, "KEY");
}

TEST_F(UpstreamProxyTest, NothingIsUsedThatNobodyVouchesFor) {
  configure(Json::object());
  auto found = find();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().category, Category::kNotFound);
  EXPECT_NE(found.error().message.find("/proxy-server-ca with ca.crt"), std::string::npos) << found.error().message;
  hub->fail_next("get", "secrets", 403, "Forbidden");
  found = find();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().category, Category::kAuth);
  EXPECT_NE(found.error().hint.find("get on Secret"), std::string::npos) << found.error().hint;
  configure({{"proxyServer", {{"namespace", "../kube-system"}}}});
  EXPECT_EQ(find().error().category, Category::kInvalid);
}

}  // namespace
}  // namespace fleetadm::proxy
