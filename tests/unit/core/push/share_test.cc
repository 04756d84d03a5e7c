// Which replica dials which member.
#include "core/push/share.h"

#include <gtest/gtest.h>
#include <map>

namespace fleetadm::push {
namespace {

std::string member_number(int i) { return "cluster-" + std::to_string(i); }

TEST(ReplicaOf, NobodyAndOneAlone) {
  EXPECT_EQ(replica_of("c1", {}), "");
  EXPECT_EQ(replica_of("c1", {"a"}), "a");
}

TEST(ReplicaOf, TheOrderSaysNothing) {
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(replica_of(member_number(i), {"a", "b", "c"}), replica_of(member_number(i), {"c", "a", "b"})) << i;
}

TEST(ReplicaOf, EachGetsAboutItsPart) {
  const std::vector<std::string> replicas{"hub-5d9f7c6b4-abcde_k2j4h5g6", "hub-5d9f7c6b4-abcdf_k2j4h5g7",
                                          "hub-5d9f7c6b4-fghij_aaaaaaaa"};
  std::map<std::string, int, std::less<>> members;
  for (int i = 0; i < 3000; ++i) ++members[std::string(replica_of(member_number(i), replicas))];
  ASSERT_EQ(members.size(), 3U);
  for (const auto& [replica, count] : members) {
    EXPECT_GT(count, 850) << replica;
    EXPECT_LT(count, 1150) << replica;
  }
}

TEST(ReplicaOf, OneThatComesOrGoesMovesOnlyItsOwn) {
  const std::vector<std::string> three{"a", "b", "c"};
  const std::vector<std::string> two{"a", "c"};
  int moved = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto before = replica_of(member_number(i), three);
    const auto after = replica_of(member_number(i), two);
    if (before == "b") ++moved;
    if (before != "b") {
      EXPECT_EQ(before, after) << i;
    }
  }
  EXPECT_GT(moved, 250);
}

TEST(ReplicaOf, IsTheSameInAllVersions) {
  // Replicas of two versions run side by side during an upgrade.
  std::string who;
  for (int i = 0; i < 16; ++i) who += replica_of(member_number(i), {"a", "b", "c"});
  EXPECT_EQ(who, "ccbbaccbcacbaaba");
}

}  // namespace
}  // namespace fleetadm::push
