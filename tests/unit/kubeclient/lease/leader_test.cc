#include "kubeclient/lease/leader.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "tests/support/fake_api.h"

namespace fleetadm::kube {
namespace {

using namespace std::chrono_literals;
using testkit::FakeApi;

constexpr const char* kNs = "hub";
constexpr const char* kLease = "lock";

LeaderOptions options(std::string identity) { return {kNs, kLease, std::move(identity), {1s, 500ms, 20ms}}; }

bool eventually(const std::function<bool()>& done, Duration most = 10s) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

/// One contender in a thread of its own.
class Contender {
 public:
  Contender(const std::shared_ptr<FakeApi>& api, const std::string& identity)
      : thread_([this, client = api->client(), given = options(identity)](std::stop_token stop) {
          outcome_ = run_as_leader(
              client, given,
              [this](std::stop_token leading) -> Status {
                leads_ = true;
                while (!leading.stop_requested()) std::this_thread::sleep_for(1ms);
                leads_ = false;
                return {};
              },
              stop);
          ended_ = true;
        }) {}
  bool leads() const { return leads_; }
  bool ended() const { return ended_; }
  Status finish() {
    thread_.request_stop();
    thread_.join();
    return outcome_;
  }

 private:
  std::atomic<bool> leads_{false}, ended_{false};
  Status outcome_;
  std::jthread thread_;
};

std::string holder(const FakeApi& api) {
  const auto lease = api.get(resources::leases(), kNs, kLease);
  return lease ? str(*lease, {"spec", "holderIdentity"}) : "(none)";
}

TEST(RunAsLeader, TakesAFreeLeaseRenewsItAndLetsGo) {
  const auto api = FakeApi::make();
  Contender a(api, "a");
  ASSERT_TRUE(eventually([&] { return a.leads(); }));
  EXPECT_EQ(holder(*api), "a");
  const auto renewed = [&] { return str(*api->get(resources::leases(), kNs, kLease), {"spec", "renewTime"}); };
  const std::string first = renewed();
  EXPECT_TRUE(eventually([&] { return renewed() != first; }));
  EXPECT_EQ(num(*api->get(resources::leases(), kNs, kLease), {"spec", "leaseTransitions"}), 0);
  EXPECT_TRUE(a.finish());
  EXPECT_EQ(holder(*api), "") << "released";
  EXPECT_EQ(num(*api->get(resources::leases(), kNs, kLease), {"spec", "leaseDurationSeconds"}), 1);
}

TEST(RunAsLeader, OneAtATimeAndTheNextTakesOverAfterARelease) {
  const auto api = FakeApi::make();
  Contender a(api, "a");
  ASSERT_TRUE(eventually([&] { return a.leads(); }));
  Contender b(api, "b");
  std::this_thread::sleep_for(200ms);
  EXPECT_FALSE(b.leads());
  EXPECT_TRUE(a.finish());
  EXPECT_TRUE(eventually([&] { return b.leads(); }));
  EXPECT_EQ(holder(*api), "b");
  EXPECT_EQ(num(*api->get(resources::leases(), kNs, kLease), {"spec", "leaseTransitions"}), 1);
  EXPECT_TRUE(b.finish());
}

TEST(RunAsLeader, ADeadLeadersLeaseIsTakenAfterItsTimeByTheLocalClock) {
  const auto api = FakeApi::make();
  // Its times are years ahead: remote clocks do not count.
  api->put(resources::leases(), {{"apiVersion", "coordination.k8s.io/v1"},
                                 {"kind", "Lease"},
                                 {"metadata", {{"name", kLease}, {"namespace", kNs}}},
                                 {"spec",
                                  {{"holderIdentity", "dead"},
                                   {"leaseDurationSeconds", 1},
                                   {"renewTime", "2035-01-01T00:00:00.000000Z"},
                                   {"leaseTransitions", 4}}}});
  const auto began = std::chrono::steady_clock::now();
  Contender a(api, "a");
  ASSERT_TRUE(eventually([&] { return a.leads(); }));
  EXPECT_GE(std::chrono::steady_clock::now() - began, 1s);
  EXPECT_EQ(num(*api->get(resources::leases(), kNs, kLease), {"spec", "leaseTransitions"}), 5);
  EXPECT_TRUE(a.finish());
}

TEST(RunAsLeader, LosingTheLeaseEndsTheWorkAtOnce) {
  const auto api = FakeApi::make();
  Contender a(api, "a");
  ASSERT_TRUE(eventually([&] { return a.leads(); }));
  Json lease = *api->get(resources::leases(), kNs, kLease);
  at_or_make(lease, {"spec", "holderIdentity"}) = "thief";
  at_or_make(lease, {"spec", "leaseDurationSeconds"}) = 3600;
  api->put(resources::leases(), lease);
  EXPECT_TRUE(eventually([&] { return a.ended(); }));
  const Status outcome = a.finish();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().category, Category::kUnavailable);
  EXPECT_EQ(holder(*api), "thief") << "another's lease is not released";
}

TEST(RunAsLeader, AServerThatStaysAwayEndsTheWorkAfterTheRenewDeadline) {
  const auto api = FakeApi::make();
  Contender a(api, "a");
  ASSERT_TRUE(eventually([&] { return a.leads(); }));
  api->on_request([](const testkit::ApiCall&) -> std::optional<Response> { return Response{500, {}, "{}"}; });
  EXPECT_TRUE(eventually([&] { return a.ended(); }, 20s));
  const Status outcome = a.finish();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().category, Category::kUnavailable);
}

TEST(RunAsLeader, AShortFailureIsSurvived) {
  const auto api = FakeApi::make();
  Contender a(api, "a");
  ASSERT_TRUE(eventually([&] { return a.leads(); }));
  api->fail_next("update", "leases", 409, "Conflict", 2);
  std::this_thread::sleep_for(200ms);
  EXPECT_TRUE(a.leads());
  EXPECT_TRUE(a.finish());
}

TEST(RunAsLeader, StopWhileWaitingIsNoError) {
  const auto api = FakeApi::make();
  Contender a(api, "a");
  ASSERT_TRUE(eventually([&] { return a.leads(); }));
  Contender b(api, "b");
  std::this_thread::sleep_for(50ms);
  EXPECT_TRUE(b.finish());
  EXPECT_TRUE(a.leads());
  EXPECT_EQ(holder(*api), "a");
  EXPECT_TRUE(a.finish());
}

TEST(RunAsLeader, RefusesSettingsThatCannotWork) {
  const auto api = FakeApi::make();
  const auto lead = [](std::stop_token) -> Status { return {}; };
  LeaderOptions wrong = options("a");
  wrong.timing.renew_deadline = wrong.timing.lease;
  EXPECT_EQ(run_as_leader(api->client(), wrong, lead, {}).error().category, Category::kUsage);
  wrong = options("");
  EXPECT_EQ(run_as_leader(api->client(), wrong, lead, {}).error().category, Category::kUsage);
  EXPECT_TRUE(api->calls().empty());
}

}  // namespace
}  // namespace fleetadm::kube
