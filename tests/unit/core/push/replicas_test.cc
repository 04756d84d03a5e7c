// Replicas of a hub that share its members: who dials which while one comes, leaves, dies, or cannot renew its lease.
#include "core/push/replicas.h"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "tests/support/fake_api.h"

namespace fleetadm::push {
namespace {

using namespace std::chrono_literals;

constexpr int kMembers = 30;

class ReplicasTest : public ::testing::Test {
 protected:
  struct One {
    std::unique_ptr<Replicas> replicas;
    std::shared_ptr<std::atomic<int>> changes = std::make_shared<std::atomic<int>>(0);
  };
  One start(const std::string& identity) const {
    One one;
    ReplicaOptions options{"hub", identity, {.lease = 1s, .renew_deadline = 600ms, .retry = 100ms}, 200ms};
    one.replicas = std::make_unique<Replicas>(api->client(), options);
    one.replicas->join([changes = one.changes] { ++*changes; });
    return one;
  }
  static std::string member(int number) { return "c" + std::to_string(number); }
  static int count(const Replicas& replicas) {
    int mine = 0;
    for (int i = 0; i < kMembers; ++i) mine += replicas.is_mine(member(i)) ? 1 : 0;
    return mine;
  }
  static bool within(Duration most, const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + most;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(5ms);
    }
    return true;
  }
  /// Leases of the hub's namespace.
  int leases() const {
    const auto listed = api->client().list(kube::resources::leases(), "hub");
    return listed ? static_cast<int>(list_at(*listed, {"items"}).size()) : -1;
  }

  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make();
};

TEST_F(ReplicasTest, OneAloneHasAll) {
  const One only = start("a");
  EXPECT_EQ(count(*only.replicas), 0) << "not before its lease has been seen";
  EXPECT_TRUE(within(5s, [&] { return count(*only.replicas) == kMembers; }));
  EXPECT_EQ(only.replicas->sharing(), std::vector<std::string>{"a"});
  std::this_thread::sleep_for(1500ms);
  EXPECT_EQ(*only.changes, 1) << "its renewals change nothing";
  EXPECT_EQ(count(*only.replicas), kMembers);
}

TEST_F(ReplicasTest, OneThatComesGetsItsPartAndOneThatLeavesGivesItBack) {
  const One first = start("a");
  ASSERT_TRUE(within(5s, [&] { return count(*first.replicas) == kMembers; }));
  {
    const One second = start("b");
    int twice = 0;
    EXPECT_TRUE(within(5s, [&] {
      for (int i = 0; i < kMembers; ++i)
        twice += first.replicas->is_mine(member(i)) && second.replicas->is_mine(member(i)) ? 1 : 0;
      return count(*first.replicas) < kMembers && count(*first.replicas) + count(*second.replicas) == kMembers;
    }));
    EXPECT_EQ(twice, 0) << "no member has two";
    EXPECT_GT(count(*second.replicas), 5);
  }
  EXPECT_TRUE(within(500ms, [&] { return count(*first.replicas) == kMembers; })) << "it has said that it leaves";
  EXPECT_EQ(leases(), 1);
}

TEST_F(ReplicasTest, OneThatCannotRenewLetsGoBeforeTheOthersTakeOver) {
  const One first = start("a");
  const One second = start("b");
  ASSERT_TRUE(within(
      5s, [&] { return count(*first.replicas) + count(*second.replicas) == kMembers && first.replicas->sharing().size() == 2; }));
  const std::string of_second =
      str(list_at(*api->client().list(kube::resources::leases(), "hub"), {"items"}).back(), {"spec", "holderIdentity"});
  ASSERT_FALSE(of_second.empty());
  api->on_request([](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (call.verb != "update" || str(call.body, {"spec", "holderIdentity"}) != "b") return std::nullopt;
    kube::Response refused;
    refused.status = 500;
    return refused;
  });
  int twice = 0;
  EXPECT_TRUE(within(5s, [&] {
    for (int i = 0; i < kMembers; ++i) twice += first.replicas->is_mine(member(i)) && second.replicas->is_mine(member(i)) ? 1 : 0;
    return count(*first.replicas) == kMembers;
  }));
  EXPECT_EQ(twice, 0);
  EXPECT_EQ(count(*second.replicas), 0);
  api->on_request({});
  EXPECT_TRUE(within(5s, [&] {
    for (int i = 0; i < kMembers; ++i) twice += first.replicas->is_mine(member(i)) && second.replicas->is_mine(member(i)) ? 1 : 0;
    return count(*second.replicas) > 0 && count(*first.replicas) + count(*second.replicas) == kMembers;
  })) << "it comes back";
  EXPECT_EQ(twice, 0);
}

TEST_F(ReplicasTest, OneThatWasKilledIsFollowedWhenItsLeaseHasEnded) {
  api->put(
      kube::resources::leases(),
      {{"apiVersion", "coordination.k8s.io/v1"},
       {"kind", "Lease"},
       {"metadata", {{"name", "fleetadm-push-gone"}, {"namespace", "hub"}, {"labels", {{std::string(kReplicaLabel), "true"}}}}},
       {"spec", {{"holderIdentity", "gone"}, {"leaseDurationSeconds", 2}, {"renewTime", "2020-01-01T00:00:00.000000Z"}}}});
  const auto began = std::chrono::steady_clock::now();
  const One left = start("a");
  ASSERT_TRUE(within(5s, [&] { return left.replicas->sharing().size() == 2; }))
      << "its clock may be wrong: its lease counts from now";
  EXPECT_LT(count(*left.replicas), kMembers);
  EXPECT_TRUE(within(5s, [&] { return count(*left.replicas) == kMembers; }));
  EXPECT_GE(std::chrono::steady_clock::now() - began, 2s);
}

}  // namespace
}  // namespace fleetadm::push
