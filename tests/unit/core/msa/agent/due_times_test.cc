#include "core/msa/agent/due_times.h"

#include <gtest/gtest.h>

namespace fleetadm::msa {
namespace {

Instant at(int second) { return Instant(std::chrono::seconds(second)); }

TEST(DueTimes, KnowWhatIsDueUntilAMoment) {
  DueTimes times;
  times.set("b", at(20));
  times.set("a", at(10));
  times.set("c", at(30));
  EXPECT_TRUE(times.until(at(9)).empty());
  EXPECT_EQ(times.until(at(20)), (std::vector<std::pair<std::string, Instant>>{{"a", at(10)}, {"b", at(20)}}));
  times.set("a", at(40));
  times.forget("b");
  EXPECT_TRUE(times.until(at(20)).empty());
}

TEST(DueTimes, EachHasItsTurnWhateverComesAndGoes) {
  DueTimes times;
  EXPECT_FALSE(times.next_in_turn());
  for (const char* name : {"c", "a", "b"}) times.set(name, at(1));
  EXPECT_EQ(times.next_in_turn(), "a");
  EXPECT_EQ(times.next_in_turn(), "b");
  times.forget("b");
  times.set("bb", at(1));
  EXPECT_EQ(times.next_in_turn(), "bb");
  EXPECT_EQ(times.next_in_turn(), "c");
  EXPECT_EQ(times.next_in_turn(), "a");
}

}  // namespace
}  // namespace fleetadm::msa
