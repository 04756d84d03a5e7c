// The agent's side of add-ons, one look at a time, against a hub and a cluster in memory.
#include "core/addon/agent/addon_keeper.h"

#include <gtest/gtest.h>

#include "core/addon/agent/lease_health.h"
#include "core/addon/rules/agent_identity.h"
#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"
#include "tests/support/fake_api.h"
#include "tests/unit/core/addon/agent/keeping_fixture.h"

namespace fleetadm::addon::agent {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testkit::FakeApi;
namespace res = kube::resources;

TEST_F(KeepingAddons, ObtainsACertificateByARequestOfTheHubsForm) {
  declare(Json::array({kube_client()}));
  look();
  EXPECT_EQ(str(*addon(), {"status", "kubeClientDriver"}), "csr");
  const Json request = hub->all(res::certificate_signing_requests()).at(0);
  EXPECT_TRUE(name_of(request).starts_with("addon-c1-hello-"));
  EXPECT_EQ(label_of(request, api::kClusterNameLabel), "c1");
  EXPECT_EQ(label_of(request, api::kAddonNameLabel), "hello");
  EXPECT_EQ(str(request, {"spec", "signerName"}), kClient);
  const pki::CsrInfo asked = pki::parse_csr(base64_decode(str(request, {"spec", "request"})).value()).value();
  EXPECT_EQ(asked.subject.common_name, agent_user("c1", "hello", "hello-agent"));
  EXPECT_EQ(asked.dns_names, std::vector<std::string>{"hello.addon.open-cluster-management.io"});
  EXPECT_FALSE(asked.other_extensions);
  EXPECT_FALSE(secret("hello-hub-kubeconfig")) << "pods would start with half a credential";
  sign();
  look();
  EXPECT_TRUE(pki::key_matches(stored("hello-hub-kubeconfig", "tls.crt"), stored("hello-hub-kubeconfig", "tls.key")));
  EXPECT_EQ(stored("hello-hub-kubeconfig", "cluster-name"), "c1");
  EXPECT_NE(stored("hello-hub-kubeconfig", "kubeconfig").find("https://hub"), std::string::npos);
  EXPECT_EQ(stored("hello-hub-kubeconfig", "pending-tls.key"), "");
  EXPECT_FALSE(secret("hello-hub-kubeconfig-request"));
  EXPECT_EQ(condition("ClusterCertificateRotated", "reason"), "ClientCertificateUpdated");
  EXPECT_EQ(hub->all(res::certificate_signing_requests()).size(), 1u);
}

TEST_F(KeepingAddons, WritesNothingWhereNothingIsDueAndRenewsInTime) {
  declare(Json::array({kube_client()}));
  look();
  sign();
  look();
  look();
  hub->forget_calls();
  spoke->forget_calls();
  const auto later = look();
  EXPECT_EQ(hub->write_count() + spoke->write_count(), 0);
  ASSERT_TRUE(later.requeue_after);
  EXPECT_EQ(*later.requeue_after, Duration(minutes(5)));
  const std::string first = stored("hello-hub-kubeconfig", "tls.crt");
  clock->advance(hours(17));  // of 24: not yet due
  look();
  EXPECT_EQ(hub->all(res::certificate_signing_requests()).size(), 1u);
  clock->advance(minutes(145));  // 80 % and a little
  look();
  EXPECT_EQ(hub->all(res::certificate_signing_requests()).size(), 2u);
  EXPECT_EQ(stored("hello-hub-kubeconfig", "tls.crt"), first) << "the old one works until the new one is there";
  sign();
  look();
  EXPECT_NE(stored("hello-hub-kubeconfig", "tls.crt"), first);
}

TEST_F(KeepingAddons, GoesOnWithTheSameRequestAfterARestart) {
  declare(Json::array({kube_client()}));
  look();
  restart();
  look();
  EXPECT_EQ(hub->all(res::certificate_signing_requests()).size(), 1u);
  sign();
  restart();
  look();
  EXPECT_TRUE(secret("hello-hub-kubeconfig"));
  EXPECT_FALSE(secret("hello-hub-kubeconfig-request"));
}

TEST_F(KeepingAddons, FallsBackToTheDefaultSubject) {
  declare(Json::array({{{"signerName", kClient}}}));
  look();
  const Json request = hub->all(res::certificate_signing_requests()).at(0);
  const pki::CsrInfo asked = pki::parse_csr(base64_decode(str(request, {"spec", "request"})).value()).value();
  EXPECT_EQ(asked.subject.common_name, agent_user("c1", "hello", "agent1"));
  EXPECT_EQ(asked.subject.organizations, std::vector<std::string>{cluster_addon_group("c1", "hello")});
}

TEST_F(KeepingAddons, KeepsACertificateOfEachCustomSigner) {
  declare(Json::array({kube_client(), {{"signerName", "example.com/a/b"}, {"subject", {{"user", "u"}}}}, Json::object()}));
  look();
  sign();
  look();
  EXPECT_TRUE(secret("hello-hub-kubeconfig"));
  EXPECT_TRUE(secret("hello-example.com-a-b-client-cert"));
  EXPECT_EQ(stored("hello-example.com-a-b-client-cert", "kubeconfig"), "");
  EXPECT_NE(stored("hello-example.com-a-b-client-cert", "tls.crt"), "");
  // A registration that the hub takes back takes its credential with it.
  declare(Json::array({kube_client()}), {{"kubeClientDriver", "csr"}});
  look();
  EXPECT_TRUE(secret("hello-hub-kubeconfig"));
  EXPECT_FALSE(secret("hello-example.com-a-b-client-cert"));
}

TEST_F(KeepingAddons, DeletesTheCredentialsOnceTheAddonIsGone) {
  Json declared = declare(Json::array({kube_client()}));
  look();
  sign();
  look();
  declared["metadata"]["deletionTimestamp"] = format_time(clock->now());
  declared["metadata"]["finalizers"] = Json::array({"x/y"});
  hub->put(api::managed_cluster_addons(), declared);
  look();
  EXPECT_TRUE(secret("hello-hub-kubeconfig")) << "what it does before it ends needs them";
  hub->erase(api::managed_cluster_addons(), "c1", "hello");
  look();
  EXPECT_FALSE(secret("hello-hub-kubeconfig"));
}

TEST_F(KeepingAddons, DeletesWhatWasLeftWhileNoAgentRan) {
  declare(Json::array({kube_client()}));
  look();
  sign();
  look();
  spoke->put(res::secrets(),
             {{"apiVersion", "v1"},
              {"kind", "Secret"},
              {"metadata",
               {{"name", "other"},
                {"namespace", kNs},
                {"labels", {{std::string(api::kClusterNameLabel), "c2"}, {std::string(api::kAddonNameLabel), "hello"}}}}}});
  restart();
  spoke->put(res::secrets(),
             {{"apiVersion", "v1"},
              {"kind", "Secret"},
              {"metadata",
               {{"name", "of-the-addon"},
                {"namespace", kNs},
                {"labels", {{std::string(api::kClusterNameLabel), "c1"}, {std::string(api::kAddonNameLabel), "hello"}}}}}});
  ASSERT_TRUE(keeper->remove_leftovers([this](const std::string&) { return addon(); }));
  EXPECT_TRUE(secret("of-the-addon")) << "it is no credential";
  EXPECT_TRUE(secret("hello-hub-kubeconfig"));
  ASSERT_TRUE(keeper->remove_leftovers([](const std::string&) { return std::nullopt; }));
  EXPECT_FALSE(secret("hello-hub-kubeconfig"));
  EXPECT_TRUE(secret("other")) << "of another cluster";
}

TEST_F(KeepingAddons, MovesTheCredentialWithTheNamespace) {
  declare(Json::array({kube_client()}));
  look();
  sign();
  look();
  Json moved = *addon();
  moved["status"]["namespace"] = "elsewhere";
  hub->put(api::managed_cluster_addons(), moved);
  look();
  sign();
  look();
  EXPECT_TRUE(secret("hello-hub-kubeconfig", "elsewhere"));
  EXPECT_FALSE(secret("hello-hub-kubeconfig"));
}

TEST_F(KeepingAddons, TellsOfARefusalAndAsksAgainMuchLater) {
  declare(Json::array({kube_client()}));
  look();
  Json request = hub->all(res::certificate_signing_requests()).at(0);
  request["status"]["conditions"] = Json::array({{{"type", "Denied"},
                                                  {"status", "True"},
                                                  {"reason", "r"},
                                                  {"message", "m"},
                                                  {"lastUpdateTime", format_time(clock->now())}}});
  hub->put(res::certificate_signing_requests(), request);
  const auto outcome = look();
  EXPECT_EQ(condition("ClusterCertificateRotated", "status"), "False");
  ASSERT_TRUE(outcome.requeue_after);
  EXPECT_GE(*outcome.requeue_after, Duration(minutes(5)));
  EXPECT_EQ(hub->all(res::certificate_signing_requests()).size(), 1u);
}

TEST_F(KeepingTokens, WaitsForTheServiceAccountThenStoresItsToken) {
  declare(Json::array({kube_client()}));
  look();
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(str(*addon(), {"status", "kubeClientDriver"}), "token");
  EXPECT_EQ(str((*addon())["status"]["registrations"][0], {"subject", "user"}), "system:serviceaccount:c1:hello-agent");
  declare(Json::array({kube_client()}), ready("uid-1"));
  look();
  EXPECT_EQ(asked, 1);
  EXPECT_NE(path.find("/namespaces/c1/serviceaccounts/hello-agent/token"), std::string::npos) << path;
  EXPECT_FALSE(stored("hello-hub-kubeconfig", "token").empty());
  EXPECT_NE(stored("hello-hub-kubeconfig", "kubeconfig").find("tokenFile: token"), std::string::npos);
  EXPECT_EQ(condition("TokenRefreshed", "reason"), "AddonTokenRefreshed");
  look();
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(hub->all(res::certificate_signing_requests()).empty());
}

TEST_F(KeepingTokens, RefreshesWithAFifthOfTheLifetimeLeftAndForAnotherAccount) {
  declare(Json::array({kube_client()}), ready("uid-1"));
  look();
  look();
  clock->advance(hours(8) - minutes(1));
  look();
  EXPECT_EQ(asked, 1);
  clock->advance(minutes(2));
  look();
  EXPECT_EQ(asked, 2);
  uid = "uid-2";
  declare(Json::array({kube_client()}), ready("uid-2"));
  look();
  EXPECT_EQ(asked, 3);
}

TEST_F(KeepingTokens, RefusesATokenOfAnotherAccount) {
  uid = "somebody-else";
  declare(Json::array({kube_client()}), ready("uid-1"));
  look();
  EXPECT_FALSE(secret("hello-hub-kubeconfig"));
  EXPECT_EQ(condition("TokenRefreshed", "reason"), "TokenCreationFailed");
}

TEST(LeaseHealth, FollowsTheLease) {
  const Instant now = *parse_time("2026-03-01T12:00:00Z");
  const auto renewed = [](const char* at) { return Json{{"spec", {{"renewTime", at}}}}; };
  EXPECT_EQ(str(lease_condition(std::nullopt, "hello", now), {"reason"}), "ManagedClusterAddOnLeaseNotFound");
  EXPECT_EQ(str(lease_condition(renewed("2026-03-01T11:55:01.000000Z"), "hello", now), {"status"}), "True");
  const Json stopped = lease_condition(renewed("2026-03-01T11:54:59.000000Z"), "hello", now);
  EXPECT_EQ(str(stopped, {"status"}), "False");
  EXPECT_EQ(str(stopped, {"message"}), "hello add-on is not available.");
  EXPECT_EQ(str(lease_condition(Json::object(), "hello", now), {"status"}), "False");
  EXPECT_EQ(lease_look(renewed("2026-03-01T11:55:01.000000Z"), now), Duration(std::chrono::seconds(1)));
  EXPECT_EQ(lease_look(renewed("2026-03-01T13:00:00.000000Z"), now), Duration(std::chrono::minutes(5))) << "another clock";
  EXPECT_EQ(lease_look(renewed("2026-03-01T11:54:59.000000Z"), now), kLeaseLook);
  EXPECT_EQ(lease_look(std::nullopt, now), kLeaseLook);
}

TEST_F(KeepingAddons, ReportsHealthByLeaseAndOnlyWhereItChanges) {
  declare(Json::array());
  ASSERT_TRUE(keeper->keep_health(addon()));
  EXPECT_EQ(condition("Available", "reason"), "ManagedClusterAddOnLeaseNotFound");
  spoke->put(res::leases(), {{"apiVersion", "coordination.k8s.io/v1"},
                             {"kind", "Lease"},
                             {"metadata", {{"name", "hello"}, {"namespace", kNs}}},
                             {"spec", {{"renewTime", format_micro_time(clock->now())}}}});
  const auto outcome = keeper->keep_health(addon());
  ASSERT_TRUE(outcome);
  EXPECT_GT(outcome->requeue_after, Duration(std::chrono::seconds(299))) << "it cannot end before";
  EXPECT_EQ(condition("Available", "status"), "True");
  hub->forget_calls();
  ASSERT_TRUE(keeper->keep_health(addon()));
  EXPECT_EQ(hub->write_count(), 0);
  declare(Json::array(), {{"healthCheck", {{"mode", "Customized"}}}});
  const auto customized = keeper->keep_health(addon());
  ASSERT_TRUE(customized);
  EXPECT_FALSE(customized->requeue_after);
  EXPECT_EQ(condition("Available", "status"), "");
}

}  // namespace
}  // namespace fleetadm::addon::agent
