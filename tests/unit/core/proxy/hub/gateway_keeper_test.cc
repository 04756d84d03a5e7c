// What a replica of the gateway keeps on the hub: CA, serving certificate, and where agents and clients find it.
#include "core/proxy/hub/gateway_keeper.h"

#include <gtest/gtest.h>
#include <stop_token>

#include "core/install/install.h"
#include "core/proxy/peers/peer_identity.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/fake_api.h"

namespace fleetadm::proxy {
namespace {

using namespace std::chrono_literals;
namespace types = kube::resources;

const GatewayReplica kFirst{"https://gateway.example.com:8443", "gateway.example.com:8444"};
const GatewayReplica kSecond{"https://gateway.example.com:8443", "second.example.com:8444"};

class GatewayKeeperTest : public ::testing::Test {
 protected:
  GatewayKeeper keeper(std::vector<std::string> hosts = {"gateway.example.com", "192.0.2.7"}) {
    return {api->client(), {std::string(api::kHubNamespace), std::move(hosts), clock}};
  }
  Json secret() const { return *api->get(types::secrets(), api::kHubNamespace, api::kGatewayAuthoritySecret); }
  Json config_map() const { return *api->get(types::config_maps(), api::kHubNamespace, api::kGatewayConfigMap); }
  api::PublishedGateway published() const { return api::read_gateway(config_map()).value().value(); }
  static pki::CertInfo first(const std::string& pem) { return pki::parse_certificates(pem).value().front(); }

  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make();
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(Clock::system()->now());
};

TEST_F(GatewayKeeperTest, MakesACaIssuesACertificateAndTellsWhereItIs) {
  GatewayKeeper one = keeper();
  ASSERT_EQ(one.renew().value(), true);
  ASSERT_TRUE(one.publish(kFirst));

  const auto authority = pki::read_authority(secret());
  ASSERT_TRUE(authority);
  const pki::CertInfo ca = first(authority->ca.certificate);
  EXPECT_TRUE(ca.is_ca);
  EXPECT_GT(ca.not_after - ca.not_before, 9 * 365 * 24h);
  const pki::CertInfo serving = first(one.serving().certificate);
  EXPECT_EQ(serving.issuer, ca.subject);
  EXPECT_FALSE(serving.is_ca);
  EXPECT_EQ(std::count(serving.usages.begin(), serving.usages.end(), "server auth"), 1);
  EXPECT_EQ(std::count(serving.usages.begin(), serving.usages.end(), "client auth"), 0);
  for (const char* name : {"gateway.example.com", "localhost", "fleetadm-gateway.open-cluster-management-hub.svc"})
    EXPECT_EQ(std::count(serving.dns_names.begin(), serving.dns_names.end(), name), 1) << name;
  EXPECT_EQ(std::count(serving.ip_addresses.begin(), serving.ip_addresses.end(), "192.0.2.7"), 1);
  EXPECT_EQ(published(), (api::PublishedGateway{kFirst.server, {kFirst.tunnel}, authority->bundle}));
  EXPECT_EQ(label_of(secret(), install::kPartLabel), install::kHubPart) << "clean removes it";
  EXPECT_EQ(label_of(config_map(), install::kPartLabel), install::kHubPart);

  api->forget_calls();
  EXPECT_EQ(one.renew().value(), false);
  EXPECT_TRUE(one.publish(kFirst));
  EXPECT_EQ(api->write_count(), 0) << "a second pass writes nothing";
}

TEST_F(GatewayKeeperTest, ClocksMayBeTenMinutesApart) {
  GatewayKeeper one = keeper();
  ASSERT_TRUE(one.renew());
  const Instant slow = Clock::system()->now() - 10min;  // that of an agent, or of another replica
  for (const std::string& pem : {one.trusted(), one.serving().certificate, one.peer().certificate})
    EXPECT_LT(first(pem).not_before, slow) << first(pem).subject.common_name;
  ASSERT_TRUE(one.publish(kFirst));
  GatewayKeeper two = keeper();
  clock->advance(10min);
  ASSERT_TRUE(two.renew());
  ASSERT_TRUE(two.publish(kSecond));
  clock->advance(-10min);
  ASSERT_TRUE(one.publish(kFirst));
  EXPECT_EQ(published().tunnels.size(), 2U) << "neither takes the other for gone";
}

TEST_F(GatewayKeeperTest, FillsWhatInitInstalledEmpty) {
  const Json labels{{std::string(install::kPartLabel), install::kHubPart}};
  api->put(types::secrets(),
           {{"apiVersion", "v1"},
            {"kind", "Secret"},
            {"metadata", {{"name", api::kGatewayAuthoritySecret}, {"namespace", api::kHubNamespace}, {"labels", labels}}}});
  api->put(types::config_maps(),
           {{"apiVersion", "v1"},
            {"kind", "ConfigMap"},
            {"metadata", {{"name", api::kGatewayConfigMap}, {"namespace", api::kHubNamespace}, {"labels", labels}}}});
  EXPECT_FALSE(api::read_gateway(config_map()).value()) << "nothing is published";
  GatewayKeeper one = keeper();
  ASSERT_TRUE(one.renew());
  ASSERT_TRUE(one.publish(kFirst));
  EXPECT_EQ(api->count("create"), 0) << "it has no right to";
  EXPECT_EQ(published().ca, one.trusted());
}

TEST_F(GatewayKeeperTest, ReplicasShareTheCaAndStandSideBySide) {
  GatewayKeeper one = keeper();
  GatewayKeeper two = keeper();
  ASSERT_TRUE(one.renew());
  ASSERT_TRUE(one.publish(kFirst));
  ASSERT_TRUE(two.renew());
  ASSERT_TRUE(two.publish(kSecond));
  EXPECT_EQ(one.trusted(), two.trusted());
  EXPECT_NE(one.serving().key, two.serving().key);
  EXPECT_EQ(published().tunnels, (std::vector<std::string>{kFirst.tunnel, kSecond.tunnel}));

  // The first is killed, the second lives on.
  for (int i = 0; i < 3; ++i) {
    clock->advance(kReplicaRenewal);
    ASSERT_TRUE(two.publish(kSecond));
  }
  EXPECT_EQ(published().tunnels, std::vector<std::string>{kSecond.tunnel});

  ASSERT_TRUE(one.publish(kFirst));
  EXPECT_EQ(published().tunnels.size(), 2U);
  ASSERT_TRUE(one.withdraw(kFirst));
  EXPECT_EQ(published().tunnels, std::vector<std::string>{kSecond.tunnel}) << "who ends in order is gone at once";
  ASSERT_TRUE(two.withdraw(kSecond));
  EXPECT_EQ(published().tunnels, std::vector<std::string>{kSecond.tunnel}) << "the last stays, to be waited for";
}

TEST_F(GatewayKeeperTest, AProgramThatIsStoppedStillTakesItselfAway) {
  std::stop_source stop;
  GatewayKeeper one(api->client().with_stop(stop.get_token()), {std::string(api::kHubNamespace), {}, clock});
  GatewayKeeper two = keeper();
  ASSERT_TRUE(one.renew());
  ASSERT_TRUE(one.publish(kFirst));
  ASSERT_TRUE(two.renew());
  ASSERT_TRUE(two.publish(kSecond));
  stop.request_stop();
  api->fail_next("update", "configmaps", 409, "Conflict");
  const Status left = one.withdraw(kFirst);
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_EQ(published().tunnels, std::vector<std::string>{kSecond.tunnel});
}

TEST_F(GatewayKeeperTest, TheCertificateIsRenewedInItsLastThird) {
  GatewayKeeper one = keeper();
  ASSERT_TRUE(one.renew());
  const std::string before = one.serving().certificate;
  clock->advance(kGatewayServingLife / 2);
  EXPECT_EQ(one.renew().value(), false);
  clock->advance(kGatewayServingLife / 4);
  EXPECT_EQ(one.renew().value(), true);
  EXPECT_NE(one.serving().certificate, before);
}

TEST_F(GatewayKeeperTest, ANewCaIsPublishedBeforeItIsServed) {
  GatewayKeeper one = keeper();
  ASSERT_TRUE(one.renew());
  ASSERT_TRUE(one.publish(kFirst));
  const std::string old_ca = one.trusted();
  clock->advance(kGatewayCaLife * 9 / 10);
  ASSERT_EQ(one.renew().value(), false);
  EXPECT_NE(one.trusted(), old_ca);
  EXPECT_TRUE(one.trusted().ends_with(old_ca)) << "whoever has the old certificate is still believed";
  ASSERT_TRUE(one.publish(kFirst));
  EXPECT_EQ(published().ca, one.trusted());
  clock->set(Clock::system()->now());  // keys are made by the system's clock: to this one the new CA is as old as the first
  EXPECT_EQ(one.renew().value(), true);
}

TEST_F(GatewayKeeperTest, ObjectsOfOthersAreNotWritten) {
  const pki::KeyPair own = pki::make_ca("corporate", 24h).value();
  api->put(types::secrets(), {{"apiVersion", "v1"},
                              {"kind", "Secret"},
                              {"metadata", {{"name", api::kGatewayAuthoritySecret}, {"namespace", api::kHubNamespace}}},
                              {"data", {{"ca.crt", base64_encode(own.certificate)}, {"ca.key", base64_encode(own.key)}}}});
  api->put(types::config_maps(), {{"apiVersion", "v1"},
                                  {"kind", "ConfigMap"},
                                  {"metadata", {{"name", api::kGatewayConfigMap}, {"namespace", api::kHubNamespace}}},
                                  {"data", {{"mine", "x"}}}});
  GatewayKeeper one = keeper();
  ASSERT_TRUE(one.renew()) << "a CA that somebody provided is used";
  EXPECT_EQ(one.trusted(), own.certificate);
  const Status told = one.publish(kFirst);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().category, Category::kConflict);
  EXPECT_TRUE(one.withdraw(kFirst));
  Json useless = secret();
  useless["data"].erase("ca.key");
  api->put(types::secrets(), useless);
  EXPECT_EQ(one.renew().error().category, Category::kConflict);
  EXPECT_EQ(api->write_count(), 0);
}

TEST_F(GatewayKeeperTest, AReplicaThatLostTheRaceTakesTheOthersCa) {
  GatewayKeeper one = keeper();
  GatewayKeeper two = keeper();
  bool raced = false;
  api->on_request([&](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (call.verb == "create" && call.plural == "secrets" && !std::exchange(raced, true)) {
      EXPECT_TRUE(two.renew());
    }
    return std::nullopt;
  });
  EXPECT_FALSE(one.renew());
  ASSERT_TRUE(one.renew());
  EXPECT_EQ(one.trusted(), two.trusted());
}

TEST(PublishedGateway, IsReadOnlyWhereItIsWhole) {
  const auto read = [](const Json& data) { return api::read_gateway({{"data", data}}); };
  const Json good{{"server", "https://a:1"}, {"tunnel", "a:2\n[::1]:3\n"}, {"ca.crt", "x"}};
  EXPECT_EQ(read(good).value()->tunnels, (std::vector<std::string>{"a:2", "[::1]:3"}));
  EXPECT_FALSE(read(Json::object()).value());
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"server", "http://a:1"}, {"tunnel", "a"}, {"tunnel", "a:0"}, {"tunnel", "a b:1"}, {"tunnel", ":1"}, {"ca.crt", ""}}) {
    Json bad = good;
    bad[key] = value;
    EXPECT_FALSE(read(bad)) << key << " " << value;
  }
  Json many = good;
  std::string lines;
  for (int i = 1; i < 100; ++i) lines += "a:" + std::to_string(i) + "\n";
  many["tunnel"] = lines;
  EXPECT_FALSE(read(many));
}

TEST_F(GatewayKeeperTest, ReplicasBehindOneAddressAreToldApartByThatForReplicas) {
  const GatewayReplica here{"https://gateway:8443", "gateway:8444", "192.0.2.1:8445"};
  const GatewayReplica second{"https://gateway:8443", "gateway:8444", "192.0.2.2:8445"};
  GatewayKeeper one = keeper({"192.0.2.1"});
  GatewayKeeper two = keeper({"192.0.2.2"});
  ASSERT_TRUE(one.renew());
  ASSERT_TRUE(one.publish(here));
  EXPECT_TRUE(one.peers().empty());
  ASSERT_TRUE(two.renew());
  ASSERT_TRUE(two.publish(second));
  EXPECT_EQ(two.peers(), std::vector<std::string>{here.peer});
  ASSERT_TRUE(one.publish(here));
  EXPECT_EQ(one.peers(), std::vector<std::string>{second.peer});
  EXPECT_EQ(published().tunnels, std::vector<std::string>{"gateway:8444"});
  const pki::CertInfo shown = first(one.peer().certificate);
  EXPECT_EQ(shown.subject.common_name, kPeerUser);
  EXPECT_EQ(shown.subject.organizations, std::vector<std::string>{std::string(kPeerOrganization)});
  EXPECT_EQ(shown.ip_addresses, std::vector<std::string>{"192.0.2.1"});
  EXPECT_EQ(std::count(shown.usages.begin(), shown.usages.end(), "client auth"), 1);
  ASSERT_TRUE(one.withdraw(here));
  ASSERT_TRUE(two.publish(second));
  EXPECT_TRUE(two.peers().empty()) << "who ends in order is gone at once";
  EXPECT_EQ(published().tunnels, std::vector<std::string>{"gateway:8444"});
}

TEST(GatewayReplicas, WhoServesClusterProxyIsCountedAndPublished) {
  const Instant now = Clock::system()->now();
  const GatewayReplica plain{"https://a:1", "a:1", "a:2"};
  GatewayReplica first{"https://a:1", "a:1", "b:2"};
  first.konnectivity = true;
  GatewayReplica second = first;
  second.peer = "c:2";
  Json config_map = with_replica(Json::object(), plain, "ca", now);
  EXPECT_EQ(konnectivity_replicas(config_map, plain, now), 0U);
  EXPECT_FALSE(api::read_gateway(config_map).value()->konnectivity);
  EXPECT_EQ(konnectivity_replicas(config_map, first, now), 1U) << "itself, before it is there";
  config_map = with_replica(with_replica(config_map, first, "ca", now), second, "ca", now);
  EXPECT_EQ(konnectivity_replicas(config_map, first, now), 2U);
  EXPECT_EQ(konnectivity_replicas(config_map, plain, now), 2U);
  EXPECT_TRUE(api::read_gateway(config_map).value()->konnectivity);
  config_map = without_replica(without_replica(config_map, first, now), second, now);
  EXPECT_FALSE(api::read_gateway(config_map).value()->konnectivity) << "with the last one that does";
}

TEST(GatewayReplicas, ClientsAreSentToTheOneThatCameLast) {
  const Instant now = Clock::system()->now();
  Json config_map = with_replica(Json::object(), {"https://z:1", "a:1"}, "ca", now);
  config_map = with_replica(config_map, {"https://b:1", "b:1"}, "ca", now + 1s);
  EXPECT_EQ(api::read_gateway(config_map).value()->server, "https://b:1") << "the first may have been killed";
  config_map = with_replica(config_map, {"https://z:1", "a:1"}, "ca", now + kReplicaRenewal);
  EXPECT_EQ(api::read_gateway(config_map).value()->server, "https://b:1") << "which does not change with each renewal";
}

TEST(ExposedCondition, SaysWhatIsWrongAndSinceWhen) {
  const Instant first = *parse_time("2026-03-01T10:00:00Z");
  const Json read = with_exposed_condition(Json::object(), "", first);
  const auto condition = [](const Json& config_map) {
    return parse_json(str(config_map, {"metadata", "annotations", kConditionsAnnotation})).value().front();
  };
  EXPECT_EQ(str(condition(read), {"type"}), "ExposedServicesRead");
  EXPECT_EQ(str(condition(read), {"status"}), "True");
  EXPECT_EQ(with_exposed_condition(read, "", first + std::chrono::hours(1)), read) << "nothing is written anew";
  const Json broken =
      with_exposed_condition(read, "ConfigMap x: mine[0].port: a text is expected", first + std::chrono::hours(2));
  EXPECT_EQ(str(condition(broken), {"status"}), "False");
  EXPECT_EQ(str(condition(broken), {"reason"}), "Invalid");
  EXPECT_EQ(str(condition(broken), {"message"}), "ConfigMap x: mine[0].port: a text is expected");
  EXPECT_EQ(str(condition(broken), {"lastTransitionTime"}), "2026-03-01T12:00:00Z");
  EXPECT_LE(dump_json(with_exposed_condition(read, std::string(1'000'000, 'x'), first)).size(), 4096U);
  Json odd = read;
  odd["metadata"]["annotations"][std::string(kConditionsAnnotation)] = "{not json";
  EXPECT_EQ(str(condition(with_exposed_condition(odd, "", first)), {"status"}), "True")
      << "what nobody could read is written anew";
}

TEST(GatewayReplicas, AnAnnotationOfNoUseIsWrittenAnew) {
  const Instant now = Clock::system()->now();
  for (const char* text :
       {"", "[]", "{", "7", R"({"a:1":7})", R"({"a:1":{"renewed":"soon"}})", R"({"a:1":{"renewed":"2999-01-01T00:00:00Z"}})"}) {
    Json config_map{{"metadata", {{"annotations", {{std::string(kReplicasAnnotation), text}}}}}};
    const auto read = api::read_gateway(with_replica(config_map, kFirst, "ca", now)).value();
    EXPECT_EQ(read->tunnels, std::vector<std::string>{kFirst.tunnel}) << text;
  }
}

}  // namespace
}  // namespace fleetadm::proxy
