// Long scores of many clusters are alike: each list is kept once, and changes with its own clusters alone.
#include <gtest/gtest.h>

#include "core/placement/engine/decode.h"
#include "core/placement/engine/fleet_state.h"

namespace fleetadm::placement {
namespace {

Score score_of(const std::string& cluster, int items, int first = 0) {
  Json object{{"metadata", {{"name", "served"}, {"namespace", cluster}}}, {"status", {{"scores", Json::array()}}}};
  for (int i = 0; i < items; ++i)
    object["status"]["scores"].push_back({{"name", "v1/Kind" + std::to_string(first + i)}, {"value", 1}});
  return decode_score(object);
}

TEST(SharedScores, EqualLongListsAreOne) {
  FleetState world;
  for (const char* cluster : {"c1", "c2"}) world.put(score_of(cluster, 100));
  world.put(score_of("c3", 100, 1));
  const Score* first = world.score("c1", "served");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->items, world.score("c2", "served")->items);
  EXPECT_NE(first->items, world.score("c3", "served")->items);
  EXPECT_EQ(world.score("c3", "served")->items->front().first, "v1/Kind1");
  const auto before = first->items;
  world.put(score_of("c1", 99));
  EXPECT_EQ(world.score("c1", "served")->items->size(), 99U);
  EXPECT_EQ(world.score("c2", "served")->items, before) << "the other cluster's is as it was";
}

TEST(SharedScores, ManyVersionsAreNotKeptForEver) {
  FleetState world;
  for (int i = 0; i < 100; ++i) world.put(score_of("c1", 20, i));
  const std::weak_ptr<const Score::Items> old = world.score("c1", "served")->items;
  for (int i = 200; i < 300; ++i) world.put(score_of("c1", 20, i));
  EXPECT_TRUE(old.expired());
}

}  // namespace
}  // namespace fleetadm::placement
