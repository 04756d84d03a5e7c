#include "cli/activity.h"

#include <future>
#include <gtest/gtest.h>
#include <string>

namespace fleetadm::cli {
namespace {

using std::chrono::milliseconds;

TEST(ActivityTest, ALongWaitIsShownUntilTheLastAnswer) {
  std::promise<void> shown;
  std::string drawn;
  Activity activity(
      [&](bool on) {
        drawn += on ? "+" : "-";
        if (on) shown.set_value();
      },
      milliseconds(1));
  activity.sent();
  activity.sent();
  shown.get_future().wait();
  activity.answered();
  EXPECT_EQ(drawn, "+");
  activity.answered();
  EXPECT_EQ(drawn, "+-");
  activity.answered();
  EXPECT_EQ(drawn, "+-") << "an answer to nothing";
}

TEST(ActivityTest, AFastAnswerShowsNothing) {
  std::string drawn;
  {
    Activity activity([&](bool on) { drawn += on ? "+" : "-"; }, std::chrono::hours(1));
    activity.sent();
    activity.answered();
  }
  EXPECT_EQ(drawn, "");
}

TEST(ActivityTest, ClosedItErasesAndShowsNoMore) {
  std::promise<void> shown;
  std::string drawn;
  Activity activity(
      [&](bool on) {
        drawn += on ? "+" : "-";
        if (on) shown.set_value();
      },
      milliseconds(1));
  activity.sent();
  shown.get_future().wait();
  activity.close();
  EXPECT_EQ(drawn, "+-");
  activity.answered();
  activity.sent();
  EXPECT_EQ(drawn, "+-");
}

}  // namespace
}  // namespace fleetadm::cli
