#include "core/placement/hub/expectations.h"

#include <gtest/gtest.h>

namespace fleetadm::placement {
namespace {

using Time = Expectations::Time;

struct Cache {
  std::map<std::string, std::string> versions;
  std::string operator()(const std::string& name) const {
    const auto it = versions.find(name);
    return it == versions.end() ? "" : it->second;
  }
};

TEST(Expectations, WaitsUntilEveryReplacedVersionIsLeftBehind) {
  Expectations writes;
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

TEST(Expectations, WhatIsNeverSeenIsNotWaitedForForEver) {
  Expectations writes;
  const Time now{};
  writes.note("a/p", {{"d1", {""}}}, now);
  EXPECT_FALSE(writes.seen("a/p", Cache{}, now + Expectations::kPatience - std::chrono::milliseconds(1)));
  EXPECT_TRUE(writes.seen("a/p", Cache{}, now + Expectations::kPatience));
}

TEST(Expectations, AddsToWhatIsAwaitedAndForgets) {
  Expectations writes;
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
