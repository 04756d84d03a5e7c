// An agent with the bootstrap kubeconfigs of two hubs, against servers in memory.
#include <atomic>
#include <gtest/gtest.h>

#include "core/agent/hub_choice.h"
#include "core/api/kinds.h"
#include "core/registration/agent/hub_check.h"
#include "fleet.h"

namespace fleetadm::testkit {
namespace {

namespace reg = registration::agent;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Two hubs, of which the first can be made to answer with nothing but 503.
class SeveralHubs : public testing::Test {
 protected:
  void SetUp() override {
    fleet.bootstrap_with("hub", "first");
    fleet.bootstrap_with("other-hub", "second");
    options.bootstrap_secrets = {"first", "second"};
    options.hub_connection_timeout = milliseconds(400);
    options.timing.other_hub_look = milliseconds(50);
    fleet.hub->on_request([this](const ApiCall&) -> std::optional<kube::Response> {
      if (!away) return std::nullopt;
      return kube::Response{503, {}, R"({"kind":"Status","status":"Failure","reason":"ServiceUnavailable","code":503})"};
    });
  }
  /// As an administrator does it, here with a short lease, so that a silent hub is noticed.
  void accept(const std::shared_ptr<FakeApi>& hub, bool accepted) {
    Json managed = fleet.managed_cluster(hub).value();
    managed["spec"]["hubAcceptsClient"] = accepted;
    managed["spec"]["leaseDurationSeconds"] = 1;
    hub->put(api::managed_clusters(), managed);
  }
  bool is_with(const std::string& hub) { return fleet.stored("kubeconfig").find("https://" + hub + "\n") != std::string::npos; }
  /// That the agent does not change its mind.
  void stays_with(const std::string& hub) {
    std::this_thread::sleep_for(milliseconds(700));
    EXPECT_TRUE(is_with(hub)) << fleet.stored("kubeconfig");
  }

  std::atomic<bool> away{false};
  MemoryFleet fleet;
  agent::AgentOptions options = fleet.options();
};

TEST_F(SeveralHubs, TheFirstIsJoinedAndLeftWhenItIsSilent) {
  MemoryFleet::Process process(fleet, options);
  ASSERT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
  const std::string agent = fleet.stored("agent-name");
  accept(fleet.hub, true);
  stays_with("hub");
  EXPECT_FALSE(fleet.managed_cluster(fleet.other_hub));
  away = true;
  ASSERT_TRUE(soon([&] { return fleet.joined(fleet.other_hub); }));
  EXPECT_TRUE(is_with("other-hub"));
  EXPECT_EQ(fleet.stored("agent-name"), agent);
  away = false;
  stays_with("other-hub");
  process.stop();
  MemoryFleet::Process again(fleet, options);
  stays_with("other-hub");
}

TEST_F(SeveralHubs, AHubThatDeniesTheClusterIsLeftAtOnceAndJoinedAgainWhenAsked) {
  options.hub_connection_timeout = std::chrono::hours(1);
  MemoryFleet::Process process(fleet, options);
  ASSERT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
  accept(fleet.hub, false);
  ASSERT_TRUE(soon([&] { return fleet.joined(fleet.other_hub); }));
  stays_with("other-hub");
  accept(fleet.hub, true);
  stays_with("other-hub");
  accept(fleet.other_hub, false);
  EXPECT_TRUE(soon([&] { return is_with("hub"); }));
  fleet.hub->forget_calls();
  EXPECT_TRUE(soon([&] { return fleet.hub->count("update", "leases") > 0; }));
  EXPECT_EQ(fleet.requests(fleet.hub).size(), 1U) << "nobody has to approve the agent again";
  accept(fleet.other_hub, true);
  accept(fleet.hub, false);
  EXPECT_TRUE(soon([&] { return is_with("other-hub"); }));
  EXPECT_EQ(fleet.requests(fleet.other_hub).size(), 1U);
}

TEST_F(SeveralHubs, ACredentialOfTheFormerHubThatHasEndedIsRequestedAnew) {
  MemoryFleet::Process process(fleet, options);
  ASSERT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
  const std::string certificate = fleet.stored("tls.crt");
  accept(fleet.hub, false);
  ASSERT_TRUE(soon([&] { return fleet.joined(fleet.other_hub); }));
  EXPECT_EQ(fleet.stored("former-tls.crt"), certificate);
  fleet.reject(certificate);
  accept(fleet.hub, true);
  accept(fleet.other_hub, false);
  EXPECT_TRUE(soon([&] { return is_with("hub") && fleet.stored("tls.crt") != certificate; }));
  EXPECT_EQ(fleet.requests(fleet.hub).size(), 2U);
}

TEST_F(SeveralHubs, OneThatIsAwayAtTheBeginningIsPassedOver) {
  away = true;
  MemoryFleet::Process process(fleet, options);
  EXPECT_TRUE(soon([&] { return fleet.joined(fleet.other_hub); }));
}

TEST_F(SeveralHubs, OneThatHasNotAcceptedTheClusterYetIsWaitedFor) {
  fleet.accepts = false;
  MemoryFleet::Process process(fleet, options);
  ASSERT_TRUE(soon([&] { return is_with("hub"); }));
  stays_with("hub");
  EXPECT_FALSE(fleet.managed_cluster(fleet.other_hub));
  fleet.accepts = true;
  EXPECT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
}

TEST_F(SeveralHubs, WithNoOtherTheAgentKeepsItsCredentialAndItsHub) {
  fleet.spoke->erase(kube::resources::secrets(), std::string(api::kAgentNamespace), "second");
  MemoryFleet::Process process(fleet, options);
  ASSERT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
  const std::string certificate = fleet.stored("tls.crt");
  accept(fleet.hub, false);
  stays_with("hub");
  accept(fleet.hub, true);
  fleet.hub->forget_calls();
  EXPECT_TRUE(soon([&] { return fleet.hub->count("update", "leases") > 0; }));
  EXPECT_EQ(fleet.stored("tls.crt"), certificate);
}

TEST_F(SeveralHubs, ABootstrapIdentityWithoutRightsDoesNotCostAJoinedClusterItsHub) {
  {
    MemoryFleet::Process process(fleet, options);
    ASSERT_TRUE(soon([&] { return fleet.joined(fleet.hub); }));
  }
  fleet.hub->on_review([](const Json&) { return false; });
  MemoryFleet::Process process(fleet, options);
  stays_with("hub");
  EXPECT_FALSE(fleet.managed_cluster(fleet.other_hub));
}

TEST(HubCheck, NamesTheRightThatIsMissing) {
  const auto hub = FakeApi::make();
  EXPECT_EQ(reg::why_not_joinable(hub->client(), "c1").value(), "");
  hub->on_review([](const Json& spec) { return str(spec, {"resourceAttributes", "verb"}) != "watch"; });
  EXPECT_EQ(reg::why_not_joinable(hub->client(), "c1").value(),
            "the bootstrap identity may not watch certificatesigningrequests.certificates.k8s.io");
  hub->refuse_next("", "");
  EXPECT_FALSE(reg::why_not_joinable(hub->client(), "c1"));
}

TEST(HubChoice, SaysOfEachHubWhyItIsNotChosen) {
  MemoryFleet fleet;
  fleet.bootstrap_with("hub", "first");
  fleet.bootstrap_with("other-hub", "second");
  const std::string ns(api::kAgentNamespace);
  agent::HubChoice hubs({{fleet.spoke->client(), ns, "first", ""}, {fleet.spoke->client(), ns, "second", ""}});
  EXPECT_EQ(hubs.names(), "secret " + ns + "/first, secret " + ns + "/second");
  int checks = 0;
  std::string good = "https://other-hub";
  const auto check = [&](const agent::Bootstrap& hub) -> Result<std::string> {
    ++checks;
    return hub.endpoint.server == good ? "" : std::string("no");
  };
  Instant now = parse_time("2026-11-21T18:00:00Z").value();
  EXPECT_EQ(hubs.choose({}, check, now).value()->endpoint.server, "https://other-hub");
  good = "https://hub";
  now += seconds(59);
  EXPECT_EQ(hubs.choose({}, check, now).value()->endpoint.server, "https://other-hub") << "a choice stands for a minute";
  EXPECT_EQ(checks, 2);
  now += seconds(1);
  const auto chosen = hubs.choose({}, check, now).value();
  EXPECT_EQ(chosen->endpoint.server, "https://hub");
  good = "none";
  hubs.doubt();
  const auto none = hubs.choose(chosen->endpoint, check, now);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "none of the hubs can be joined: https://hub: no; https://other-hub: no");
  EXPECT_EQ(hubs.read_for(chosen->endpoint).value()->endpoint.server, "https://hub");
  fleet.spoke->erase(kube::resources::secrets(), ns, "first");
  EXPECT_EQ(hubs.read_for(chosen->endpoint).value()->endpoint.server, "https://other-hub");
}

}  // namespace
}  // namespace fleetadm::testkit
