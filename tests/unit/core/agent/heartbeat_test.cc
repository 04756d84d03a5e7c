#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "core/registration/agent/lease.h"
#include "tests/support/fake_api.h"
#include "tests/unit/core/agent/accepted_cluster.h"

namespace fleetadm::registration::agent {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testkit::FakeApi;

class Heartbeat : public testing::Test {
 protected:
  void SetUp() override {
    hub->put(kube::resources::leases(), {{"metadata", {{"name", "managed-cluster-lease"}, {"namespace", "c1"}}},
                                         {"spec", {{"holderIdentity", "managed-cluster-lease"}}}});
  }
  Json lease() { return hub->get(kube::resources::leases(), "c1", "managed-cluster-lease").value(); }

  std::shared_ptr<FakeApi> hub = FakeApi::make();
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(parse_time("2026-11-21T18:00:00Z").value());
  double jitter = 0;
  LeaseRenewer renewer{hub->client(), "c1", clock, [this] { return jitter; }};
};

TEST_F(Heartbeat, BeatsAtOnceThenEveryPeriod) {
  EXPECT_EQ(renewer.reconcile(renewal_period(accepted()))->requeue_after, Duration(seconds(60)));
  EXPECT_EQ(str(lease(), {"spec", "renewTime"}), "2026-11-21T18:00:00.000000Z");
  EXPECT_EQ(str(lease(), {"spec", "holderIdentity"}), "managed-cluster-lease");
  clock->advance(seconds(59));
  // Woken by an event: no extra beat.
  EXPECT_EQ(renewer.reconcile(renewal_period(accepted()))->requeue_after, Duration(seconds(1)));
  EXPECT_EQ(hub->count("update", "leases"), 1);
  clock->advance(seconds(1));
  jitter = 0.96;
  EXPECT_EQ(renewer.reconcile(renewal_period(accepted()))->requeue_after, Duration(std::chrono::milliseconds(74400)));
  EXPECT_EQ(hub->count("update", "leases"), 2);
  EXPECT_EQ(hub->count("get", "leases"), 1);  // the answer of the last update is enough
}

TEST_F(Heartbeat, NeverBeforeAcceptance) {
  Json denied = accepted();
  denied["status"]["conditions"][0]["status"] = "False";
  EXPECT_FALSE(renewer.reconcile(renewal_period(denied))->requeue_after);
  EXPECT_FALSE(renewer.reconcile(std::nullopt)->requeue_after);
  EXPECT_TRUE(hub->calls().empty());
}

TEST_F(Heartbeat, AcceptedAgainBeatsAtOnce) {
  ASSERT_TRUE(renewer.reconcile(renewal_period(accepted())));
  ASSERT_TRUE(renewer.reconcile(std::nullopt));
  ASSERT_TRUE(renewer.reconcile(renewal_period(accepted())));
  EXPECT_EQ(hub->count("update", "leases"), 2);
}

TEST_F(Heartbeat, AnotherPeriodBeatsAtOnce) {
  ASSERT_TRUE(renewer.reconcile(renewal_period(accepted())));
  EXPECT_EQ(renewer.reconcile(renewal_period(accepted(5)))->requeue_after, Duration(seconds(5)));
  EXPECT_EQ(hub->count("update", "leases"), 2);
}

TEST_F(Heartbeat, SurvivesAnotherWriter) {
  ASSERT_TRUE(renewer.reconcile(renewal_period(accepted())));
  Json touched = lease();
  touched["metadata"]["labels"]["x"] = "y";
  hub->put(kube::resources::leases(), touched);
  clock->advance(minutes(2));
  ASSERT_TRUE(renewer.reconcile(renewal_period(accepted())));
  EXPECT_EQ(str(lease(), {"spec", "renewTime"}), "2026-11-21T18:02:00.000000Z");
  EXPECT_EQ(label_of(lease(), "x"), "y");
}

TEST_F(Heartbeat, AMissingLeaseIsNotCreated) {
  hub->erase(kube::resources::leases(), "c1", "managed-cluster-lease");
  EXPECT_FALSE(renewer.reconcile(renewal_period(accepted())));
  EXPECT_EQ(hub->write_count(), 0);
}

TEST_F(Heartbeat, AClockThatWasSetBackKeepsBeating) {
  ASSERT_TRUE(renewer.reconcile(renewal_period(accepted())));
  clock->advance(minutes(-60));
  ASSERT_TRUE(renewer.reconcile(renewal_period(accepted())));
  EXPECT_EQ(hub->count("update", "leases"), 2);
}

TEST_F(Heartbeat, TheHubBeginsWithALeaseThatItHasJustMade) {
  const auto made = [&](Duration ago) {
    Json fresh = lease();
    fresh["spec"]["renewTime"] = format_micro_time(clock->now() - ago);
    hub->put(kube::resources::leases(), fresh);
    hub->forget_calls();
  };
  const auto of_hub = [&] {
    return LeaseRenewer(
        hub->client(), "c1", clock, [] { return 0.0; }, true);
  };
  made(seconds(14));
  LeaseRenewer first = of_hub();
  EXPECT_EQ(first.reconcile(renewal_period(accepted()))->requeue_after, Duration(seconds(60)));
  EXPECT_EQ(hub->write_count(), 0);
  clock->advance(seconds(60));
  EXPECT_EQ(first.reconcile(renewal_period(accepted()))->requeue_after, Duration(seconds(60)));
  EXPECT_EQ(hub->count("update", "leases"), 1);
  EXPECT_EQ(hub->count("get", "leases"), 1);
  for (const Duration age : {Duration(seconds(16)), Duration(seconds(-1))}) {
    made(age);
    ASSERT_TRUE(of_hub().reconcile(renewal_period(accepted())));
    EXPECT_EQ(hub->count("update", "leases"), 1) << "old, or of a clock that is ahead";
  }
  made(seconds(1));
  ASSERT_TRUE(renewer.reconcile(renewal_period(accepted())));
  EXPECT_EQ(hub->count("update", "leases"), 1) << "an agent's first heartbeat is its own";
}

}  // namespace
}  // namespace fleetadm::registration::agent
