#include "core/placement/hub/own_writes.h"

#include <gtest/gtest.h>

namespace fleetadm::placement {
namespace {

using Time = OwnWrites::Time;

struct Cache {
  std::map<std::string, std::string> versions;
  std::string operator()(const std::string& name) const {
    const auto it = versions.find(name);
    return it == versions.end() ? "" : it->second;
  }
};

TEST(OwnWrites, WaitsUntilEveryReplacedVersionIsLeftBehind) {
  OwnWrites writes;
  const Time now{};
  EXPECT_TRUE(writes.seen("a/p", Cache{}, now)) << "nothing was written";
  writes.note("a/p", {{"d1", {"", "5"}}, {"d2", {"3"}}}, now);
  EXPECT_FALSE(writes.seen("a/p", Cache{{{"d2", "3"}}}, now));
  EXPECT_FALSE(writes.seen("a/p", Cache{{{"d1", "5"}, {"d2", "7"}}}, now)) << "created, but without its entries";
  EXPECT_FALSE(writes.seen("a/p", Cache{{{"d1", "6"}, {"d2", "3"}}}, now));
  EXPECT_TRUE(writes.seen("a/other", Cache{}, now));
  EXPECT_TRUE(writes.seen("a/p", Cache{{{"d1", "6"}}}, now)) << "d2 is deleted";
  EXPECT_TRUE(writes.seen("a/p", Cache{}, now)) << "told once, forgotten";
}

TEST(OwnWrites, WhatIsNeverSeenIsNotWaitedForForEver) {
  OwnWrites writes;
  const Time now{};
  writes.note("a/p", {{"d1", {""}}}, now);
  EXPECT_FALSE(writes.seen("a/p", Cache{}, now + OwnWrites::kPatience - std::chrono::milliseconds(1)));
  EXPECT_TRUE(writes.seen("a/p", Cache{}, now + OwnWrites::kPatience));
}

TEST(OwnWrites, AddsToWhatIsAwaitedAndForgets) {
  OwnWrites writes;
  const Time now{};
  writes.note("a/p", {}, now);
  EXPECT_TRUE(writes.seen("a/p", Cache{}, now));
  writes.note("a/p", {{"d1", {"1"}}}, now);
  writes.note("a/p", {{"d1", {"2"}}}, now);
  EXPECT_FALSE(writes.seen("a/p", Cache{{{"d1", "1"}}}, now));
  EXPECT_FALSE(writes.seen("a/p", Cache{{{"d1", "2"}}}, now));
  writes.forget("a/p");
  EXPECT_TRUE(writes.seen("a/p", Cache{{{"d1", "2"}}}, now));
}

}  // namespace
}  // namespace fleetadm::placement
