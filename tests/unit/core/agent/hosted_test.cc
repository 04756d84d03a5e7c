// Many members in one process, against servers in memory.
#include "core/agent/hosted.h"

#include <gtest/gtest.h>

#include "core/api/hosted_member.h"
#include "core/api/kinds.h"
#include "fleet.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kNamespace = "members";

/// A cluster with the Secrets of members, each of which is the spoke of a fleet of its own; they share the first fleet's hub.
class Hosted : public testing::Test {
 protected:
  void SetUp() override {
    const auto bootstrap = fleet.spoke->get(kube::resources::secrets(), api::kAgentNamespace, api::kBootstrapSecret);
    Json shared = *bootstrap;
    shared["metadata"] = {{"name", std::string(api::kBootstrapSecret)}, {"namespace", std::string(kNamespace)}};
    home->put(kube::resources::secrets(), shared);
    options.agent = fleet.options();
    options.agent.cluster_name.clear();
    options.ns = kNamespace;
    parts.connect = [this](const kube::RestConfig& config) {
      if (config.server == "https://home") return home->client();
      return fleet.connect(config, std::make_shared<Wire>());
    };
  }
  ~Hosted() override { stop(); }

  void begin() {
    kube::RestConfig config;
    config.server = "https://home";
    thread_ = std::jthread([this, config](std::stop_token stop) { outcome = agent::run_hosted(options, config, parts, stop); });
  }
  void stop() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
  }

  void member(const std::string& secret, const std::string& cluster, const std::string& user = "token: t") {
    const std::string kubeconfig =
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: k, cluster: {server: 'https://spoke'}}]\n"
        "users: [{name: u, user: {" +
        user + "}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n";
    home->put(kube::resources::secrets(), {{"metadata",
                                            {{"name", secret},
                                             {"namespace", std::string(kNamespace)},
                                             {"labels", {{std::string(api::kHostedMemberLabel), cluster}}}}},
                                           {"data", {{"kubeconfig", base64_encode(kubeconfig)}}}});
  }
  bool available(const std::string& cluster) const {
    const auto managed = fleet.hub->get(api::managed_clusters(), {}, cluster);
    return managed && controller::condition_is(*managed, api::kConditionAvailable, "True");
  }
  /// How often a member's agent renewed its lease.
  int renewals(const std::string& cluster) const {
    int count = 0;
    for (const ApiCall& call : fleet.hub->calls())
      count += call.verb == "update" && call.plural == "leases" && call.ns == cluster;
    return count;
  }
  std::optional<Json> credential(const std::string& cluster) const {
    return home->get(kube::resources::secrets(), kNamespace, cluster + std::string(api::kHostedCredentialSuffix));
  }

  std::shared_ptr<FakeApi> home = FakeApi::make();
  MemoryFleet fleet;
  agent::HostedOptions options;
  agent::AgentParts parts;
  Status outcome;

 private:
  std::jthread thread_;
};

TEST_F(Hosted, MembersComeAndGoWithTheirSecrets) {
  member("one", "c1");
  begin();
  ASSERT_TRUE(soon([&] { return available("c1"); }));
  member("two", "c2");
  ASSERT_TRUE(soon([&] { return available("c2"); }));
  EXPECT_TRUE(credential("c1"));
  EXPECT_TRUE(credential("c2"));
  EXPECT_EQ(home->count("watch", "secrets"), 1) << "of all members' Secrets together";
  EXPECT_TRUE(soon([&] { return api::hosted_by(*fleet.hub->get(api::managed_clusters(), {}, "c1")) == kNamespace; }));
  EXPECT_TRUE(fleet.stored("tls.crt").empty()) << "the credential is kept at home";
  EXPECT_EQ(controller::find_condition(*fleet.hub->get(api::managed_clusters(), {}, "c1"), "fleetadm.io/AgentReady"), nullptr);

  home->erase(kube::resources::secrets(), std::string(kNamespace), "one");
  const auto beat = [&](const std::string& cluster) {  // a lease of another length is renewed at once
    Json managed = fleet.hub->get(api::managed_clusters(), {}, cluster).value();
    managed["spec"]["leaseDurationSeconds"] = num(managed, {"spec", "leaseDurationSeconds"}, 60) + 1;
    fleet.hub->put(api::managed_clusters(), managed);
  };
  const auto silent = [&](const std::string& cluster) {
    const int before = renewals(cluster);
    beat(cluster);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return renewals(cluster) == before;
  };
  EXPECT_TRUE(soon([&] { return silent("c1"); }));
  EXPECT_FALSE(silent("c2"));
  EXPECT_TRUE(credential("c1")) << "a member that comes back is who it was";
  stop();
  EXPECT_TRUE(outcome);
}

TEST_F(Hosted, ASecretThatCannotBeUsedCostsTheOthersNothing) {
  member("bad", "c1", "exec: {command: sh, apiVersion: client.authentication.k8s.io/v1}");
  member("good", "c2");
  begin();
  ASSERT_TRUE(soon([&] { return available("c2"); }));
  EXPECT_FALSE(fleet.hub->get(api::managed_clusters(), {}, "c1"));
  member("bad", "c1");
  EXPECT_TRUE(soon([&] { return available("c1"); }));
}

TEST_F(Hosted, ABootstrapSecretIsNamedAsSecretsAre) {
  member("one", "c1");
  Json secret = home->get(kube::resources::secrets(), kNamespace, "one").value();
  const std::string annotation(api::kHostedBootstrapAnnotation);
  secret["metadata"]["annotations"] = {{annotation, "../other/secrets/x"}};
  home->put(kube::resources::secrets(), secret);
  member("two", "c2");
  begin();
  ASSERT_TRUE(soon([&] { return available("c2"); }));
  EXPECT_FALSE(fleet.hub->get(api::managed_clusters(), {}, "c1"));
  secret["metadata"]["annotations"] = {{annotation, std::string(api::kBootstrapSecret)}};
  home->put(kube::resources::secrets(), secret);
  EXPECT_TRUE(soon([&] { return available("c1"); })) << "a change of the annotation alone is seen";
}

TEST_F(Hosted, ATokenIsRenewedAndTheAgentGoesOn) {
  const auto token_of = [](Instant issued, Duration life) {
    const auto second = [](Instant at) {
      return std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
    };
    const Json claims{
        {"iat", second(issued)},
        {"exp", second(issued + life)},
        {"kubernetes.io", {{"namespace", "agents"}, {"serviceaccount", {{"name", "fleetadm-agent"}, {"uid", "u"}}}}}};
    return "e30." + base64url_encode(dump_json(claims)) + ".signature";
  };
  const Instant now = Clock::system()->now();
  const std::string next = token_of(now, std::chrono::hours(720));
  fleet.spoke->on_request([next](const ApiCall& call) -> std::optional<kube::Response> {
    if (call.subresource != "token") return std::nullopt;
    return kube::Response{201, {}, dump_json(Json{{"kind", "TokenRequest"}, {"status", {{"token", next}}}})};
  });
  member("one", "c1", "token: " + token_of(now - std::chrono::hours(590), std::chrono::hours(720)));
  begin();
  ASSERT_TRUE(soon([&] { return available("c1"); }));
  const auto stored = [&] {
    const auto secret = home->get(kube::resources::secrets(), kNamespace, "one");
    return base64_decode(str(*secret, {"data", "kubeconfig"})).value_or("");
  };
  ASSERT_TRUE(soon([&] { return stored().find(next) != std::string::npos; }));
  const auto requests = fleet.requests(fleet.hub).size();
  const int tokens = fleet.spoke->count("create", "serviceaccounts");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(fleet.spoke->count("create", "serviceaccounts"), tokens) << "the new one is good for long";
  EXPECT_EQ(fleet.requests(fleet.hub).size(), requests);
  EXPECT_TRUE(available("c1"));
}

TEST_F(Hosted, AMembersOwnArgumentsAreItsAlone) {
  member("one", "c1");
  Json secret = home->get(kube::resources::secrets(), kNamespace, "one").value();
  secret["data"][std::string(api::kHostedArgsKey)] = base64_encode(R"(["--agent-id=mine","--cluster-labels=env=prod"])");
  home->put(kube::resources::secrets(), secret);
  member("two", "c2");
  begin();
  ASSERT_TRUE(soon([&] { return available("c1") && available("c2"); }));
  EXPECT_EQ(base64_decode(str(*credential("c1"), {"data", "agent-name"})).value_or(""), "mine");
  EXPECT_NE(base64_decode(str(*credential("c2"), {"data", "agent-name"})).value_or(""), "mine");
  EXPECT_EQ(label_of(*fleet.hub->get(api::managed_clusters(), {}, "c1"), "env"), "prod");
  EXPECT_EQ(label_of(*fleet.hub->get(api::managed_clusters(), {}, "c2"), "env"), "");
}

TEST_F(Hosted, AClusterIsThatOfOneSecretOnly) {
  member("a", "c1");
  begin();
  ASSERT_TRUE(soon([&] { return available("c1"); }));
  fleet.hub->forget_calls();
  member("b", "c1");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(fleet.hub->count("create", "certificatesigningrequests"), 0);
}

}  // namespace
}  // namespace fleetadm::testkit
