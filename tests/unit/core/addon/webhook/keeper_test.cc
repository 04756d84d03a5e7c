// The webhook beside the hub: its CA and its rotation, who is told of it, and what it answers over HTTPS.
#include "core/addon/webhook/keeper.h"

#include <gtest/gtest.h>

#include "core/addon/webhook/server.h"
#include "core/install/install.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/fake_api.h"
#include "tests/support/https.h"
#include "tests/support/raw_client.h"

namespace fleetadm::addon {
namespace {

using namespace std::chrono_literals;
namespace types = kube::resources;

constexpr const char* kHubNamespace = "open-cluster-management-hub";
constexpr const char* kDefinitions[] = {"managedclusteraddons.addon.open-cluster-management.io",
                                        "clustermanagementaddons.addon.open-cluster-management.io"};

Json service_client() {
  return {{"service", {{"namespace", kHubNamespace}, {"name", kWebhookName}, {"path", "/convert"}, {"port", 443}}}};
}

Json definition(const std::string& name, const std::string& part = std::string(install::kHubPart)) {
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", name}, {"labels", {{std::string(install::kPartLabel), part}}}}},
          {"spec",
           {{"group", "addon.open-cluster-management.io"},
            {"conversion",
             {{"strategy", "Webhook"},
              {"webhook", {{"clientConfig", service_client()}, {"conversionReviewVersions", Json::array({"v1"})}}}}}}}};
}

class WebhookKeeperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : kDefinitions) api->put(types::custom_resource_definitions(), definition(name));
  }
  WebhookOptions options(const std::string& url = {}) const { return {"127.0.0.1:0", url, kHubNamespace, clock}; }
  Json client_config(const char* name = kDefinitions[0]) const {
    const Json live = *api->get(types::custom_resource_definitions(), "", name);
    return object_at(live, {"spec", "conversion", "webhook", "clientConfig"});
  }
  std::string bundle() const { return base64_decode(str(client_config(), {"caBundle"})).value_or(""); }
  static testkit::HttpsAnswer post(const WebhookKeeper& keeper, const std::string& ca, const std::string& body = "{}",
                                   const std::string& path = "/convert") {
    return testkit::https(
        {.url = "https://" + keeper.endpoint() + path, .method = "POST", .body = body, .ca = ca, .timeout_seconds = 60});
  }

  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make();
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(Clock::system()->now());
};

TEST_F(WebhookKeeperTest, TellsTheDefinitionsWhereItIsAndWhomToTrust) {
  WebhookKeeper keeper(api->client(), options());
  const Status kept = keeper.pass(true);
  ASSERT_TRUE(kept) << kept.error().message;
  for (const char* name : kDefinitions) {
    const Json said = client_config(name);
    EXPECT_EQ(str(said, {"url"}), "https://" + keeper.endpoint() + "/convert");
    EXPECT_EQ(find(said, {"service"}), nullptr) << "a definition has one or the other";
  }
  const auto answer = post(keeper, bundle(),
                           R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview",)"
                           R"("request":{"uid":"1","desiredAPIVersion":"x","objects":[]}})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_NE(answer.body.find("Success"), std::string::npos);
  EXPECT_EQ(post(keeper, bundle(), "no review").status, 400);
  EXPECT_EQ(post(keeper, bundle(), "{}", "/other").status, 404);
  EXPECT_EQ(testkit::https({.url = "https://" + keeper.endpoint() + "/convert", .ca = bundle()}).status, 405);

  api->forget_calls();
  EXPECT_TRUE(keeper.pass(true));
  EXPECT_EQ(api->write_count(), 0) << "a second pass writes nothing";
}

/// Whoever reaches the port may send anything.
TEST_F(WebhookKeeperTest, WhatIsHostileIsRefusedAndTheNextReviewIsAnswered) {
  WebhookKeeper keeper(api->client(), options());
  ASSERT_TRUE(keeper.pass(true));
  const auto review = [](const std::string& objects, const std::string& wanted = "addon.open-cluster-management.io/v1beta1") {
    return R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"1","desiredAPIVersion":")" +
           wanted + R"(","objects":[)" + objects + "]}}";
  };
  const std::string sound =
      R"({"apiVersion":"addon.open-cluster-management.io/v1alpha1","kind":"ManagedClusterAddOn","metadata":{"name":"a"}})";
  const auto answers = [&] {
    const auto answer = post(keeper, bundle(), review(sound));
    return answer.status == 200 && answer.body.find("Success") != std::string::npos;
  };
  ASSERT_TRUE(answers());
  std::string many;
  for (int i = 0; i < 2'100'000; ++i) many += "[[]],";
  for (const std::string& body :
       {std::string(1'000'000, '['), review(std::string(600, '[') + std::string(600, ']')), review(many + "1"),
        std::string(1'000'000, '\0'), std::string("\xff\xfe{}"), sound, review(sound) + review(sound)}) {
    EXPECT_EQ(post(keeper, bundle(), body).status, 400) << body.substr(0, 60);
  }
  for (const std::string& objects : {std::string("null"), std::string("7"), std::string("{}"), std::string("[]"),
                                     R"({"apiVersion":"v1","kind":"Secret"})" + ("," + sound)}) {
    const auto answer = post(keeper, bundle(), review(objects));
    EXPECT_EQ(answer.status, 200) << objects;
    EXPECT_NE(answer.body.find("Failure"), std::string::npos) << answer.body;
  }
  EXPECT_NE(post(keeper, bundle(), review(sound, "../v1")).body.find("Failure"), std::string::npos);

  // More clients than it has room for send the beginning of a large review, and nothing more.
  const int port = std::stoi(keeper.endpoint().substr(keeper.endpoint().rfind(':') + 1));
  const pki::KeyPair anybody = pki::make_ca("anybody", 1h).value();
  std::vector<std::unique_ptr<testkit::RawClient>> idle;
  for (int i = 0; i < 80; ++i) {
    idle.push_back(std::make_unique<testkit::RawClient>(port, bundle(), anybody));
    idle.back()->send(
        "POST /convert HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000000\r\n\r\n{");
  }
  EXPECT_TRUE(answers());
}

TEST_F(WebhookKeeperTest, IsReachedByTheServiceAtAnAddressOfItsOwn) {
  WebhookOptions everywhere = options();
  everywhere.address = ":0";
  WebhookKeeper keeper(api->client(), everywhere);
  ASSERT_TRUE(keeper.pass(true));
  Json said = client_config();
  EXPECT_FALSE(str(said, {"caBundle"}).empty());
  said.erase("caBundle");
  EXPECT_EQ(said, service_client());

  WebhookKeeper elsewhere(api->client(), options("https://hub.example.com:9443/convert"));
  ASSERT_TRUE(elsewhere.pass(true));
  EXPECT_EQ(str(client_config(), {"url"}), "https://hub.example.com:9443/convert");
}

TEST_F(WebhookKeeperTest, ReplicasShareTheCaAndTheLeaderIsNamed) {
  WebhookKeeper leader(api->client(), options());
  WebhookKeeper standby(api->client(), options());
  ASSERT_TRUE(standby.pass(false));
  EXPECT_EQ(client_config(), service_client()) << "a standby writes no definition";
  ASSERT_TRUE(leader.pass(true));
  ASSERT_TRUE(standby.pass(false));
  EXPECT_EQ(str(client_config(), {"url"}), "https://" + leader.endpoint() + "/convert");
  EXPECT_EQ(post(standby, bundle(), "x").status, 400) << "a standby answers too, and is trusted";
  ASSERT_TRUE(standby.pass(true));
  EXPECT_EQ(str(client_config(), {"url"}), "https://" + standby.endpoint() + "/convert");
}

TEST_F(WebhookKeeperTest, ANewCaIsTrustedBeforeItIsUsed) {
  WebhookKeeper keeper(api->client(), options());
  ASSERT_TRUE(keeper.pass(true));
  const std::string old_ca = bundle();
  clock->advance(kAuthorityLife * 9 / 10);
  ASSERT_TRUE(keeper.pass(true));
  const std::string both = bundle();
  EXPECT_NE(both, old_ca);
  EXPECT_TRUE(both.ends_with(old_ca));
  EXPECT_EQ(post(keeper, old_ca, "x").status, 400) << "an API server that has not seen the new bundle";
  // The clock of the keys is the system's: to this one the new CA is as old as the first.
  const std::string new_ca = both.substr(0, both.size() - old_ca.size());
  clock->set(Clock::system()->now());
  ASSERT_TRUE(keeper.pass(true));
  EXPECT_EQ(post(keeper, new_ca, "x").status, 400);
  EXPECT_EQ(post(keeper, old_ca, "x").status, 0);
}

TEST_F(WebhookKeeperTest, ASecretThatIsOfNoUseIsMadeAnew) {
  WebhookKeeper keeper(api->client(), options());
  ASSERT_TRUE(keeper.pass(true));
  const Json good = *api->get(types::secrets(), kHubNamespace, kWebhookName);
  Json other_key = good;
  other_key["data"]["ca.key"] = base64_encode(*pki::generate_key());
  Json no_bundle = good;
  no_bundle["data"]["ca-bundle.crt"] = "";
  Json empty = good;
  empty.erase("data");
  Json garbage = good;
  garbage["data"] = {{"ca.crt", "%%"}, {"ca.key", 7}};
  for (const Json& bad : {other_key, no_bundle, empty, garbage}) {
    EXPECT_FALSE(pki::read_authority(bad));
    api->put(types::secrets(), bad);
    ASSERT_TRUE(keeper.pass(true));
    EXPECT_TRUE(pki::read_authority(*api->get(types::secrets(), kHubNamespace, kWebhookName)));
    ASSERT_TRUE(keeper.pass(true));
    EXPECT_EQ(post(keeper, bundle(), "x").status, 400);
  }
}

TEST_F(WebhookKeeperTest, LeavesDefinitionsOfOthersAlone) {
  const Json foreign = definition(kDefinitions[0], "");
  api->put(types::custom_resource_definitions(), foreign);
  WebhookKeeper keeper(api->client(), options());
  EXPECT_TRUE(keeper.pass(true));
  EXPECT_EQ(client_config(kDefinitions[0]), service_client());
  EXPECT_NE(client_config(kDefinitions[1]), service_client());
}

TEST_F(WebhookKeeperTest, WhatFailsForOneIsDoneForTheOther) {
  api->erase(types::custom_resource_definitions(), "", kDefinitions[0]);
  WebhookKeeper keeper(api->client(), options());
  const Status kept = keeper.pass(true);
  ASSERT_FALSE(kept);
  EXPECT_NE(kept.error().message.find(kDefinitions[0]), std::string::npos);
  EXPECT_FALSE(str(client_config(kDefinitions[1]), {"caBundle"}).empty());
}

TEST_F(WebhookKeeperTest, ServesOnceTheApiServerIsBack) {
  api->refuse_next("get", "secrets", 1);
  WebhookServer server(api->client(), options());
  server.lead(true);
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (str(client_config(), {"caBundle"}).empty() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_FALSE(str(client_config(), {"caBundle"}).empty());
}

TEST(WebhookOptions, AreChecked) {
  EXPECT_TRUE(check_webhook({"127.0.0.1:0", {}, {}, nullptr}));
  EXPECT_TRUE(check_webhook({":9443", "https://[::1]:9443/convert", {}, nullptr}));
  for (const char* address : {"", "9443", "127.0.0.1", "127.0.0.1:x"}) {
    EXPECT_FALSE(check_webhook({address, {}, {}, nullptr})) << address;
  }
  for (const char* url :
       {"http://h/convert", "h:1", "https://", "https://h:x/", "https://u@h/", "https://h/?a", "https://h:0/"}) {
    EXPECT_FALSE(check_webhook({":1", url, {}, nullptr})) << url;
  }
}

}  // namespace
}  // namespace fleetadm::addon
