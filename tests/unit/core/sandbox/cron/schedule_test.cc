#include "core/sandbox/cron/schedule.h"

#include <gtest/gtest.h>

#include "kubeclient/base/clock.h"

namespace fleetadm::sandbox::cron {
namespace {

std::int64_t seconds(const char* text) {
  return std::chrono::duration_cast<std::chrono::seconds>(parse_time(text).value().time_since_epoch()).count();
}

/// The next times of a schedule, as the zone shows them.
std::vector<std::string> next_times(const char* schedule, const char* after, int count, const TimeZone& zone = TimeZone::utc()) {
  const auto parsed = Schedule::parse(schedule);
  EXPECT_TRUE(parsed) << schedule << ": " << parsed.error().message;
  std::vector<std::string> out;
  auto at = seconds(after);
  for (int i = 0; parsed && i < count; ++i) {
    const auto next = parsed->next(at, zone);
    if (!next) break;
    at = *next;
    out.push_back(zone.format(at));
  }
  return out;
}

using Times = std::vector<std::string>;

TEST(CronSchedule, FieldsHaveListsRangesStepsAndNames) {
  EXPECT_EQ(next_times("*/20 * * * *", "2026-01-01T00:00:00Z", 3),
            (Times{"2026-01-01T00:20:00Z", "2026-01-01T00:40:00Z", "2026-01-01T01:00:00Z"}));
  EXPECT_EQ(next_times("30 6-16/4 * * 1-5", "2026-01-02T11:00:00Z", 3),  // a Friday
            (Times{"2026-01-02T14:30:00Z", "2026-01-05T06:30:00Z", "2026-01-05T10:30:00Z"}));
  EXPECT_EQ(next_times("0 0 1 JAN,jul ?", "2026-01-01T00:00:00Z", 2), (Times{"2026-07-01T00:00:00Z", "2027-01-01T00:00:00Z"}));
  EXPECT_EQ(next_times("59 23 * * sun", "2026-01-01T00:00:00Z", 1), (Times{"2026-01-04T23:59:00Z"}));
  EXPECT_EQ(next_times("50/5 0 29 2 *", "2026-01-01T00:00:00Z", 3),
            (Times{"2028-02-29T00:50:00Z", "2028-02-29T00:55:00Z", "2032-02-29T00:50:00Z"}));
}

TEST(CronSchedule, ADayOfTheMonthOrOfTheWeekIsEnoughWhereBothAreGiven) {
  EXPECT_EQ(next_times("0 0 13 * 5", "2026-01-01T00:00:00Z", 4),
            (Times{"2026-01-02T00:00:00Z", "2026-01-09T00:00:00Z", "2026-01-13T00:00:00Z", "2026-01-16T00:00:00Z"}));
  EXPECT_EQ(next_times("0 0 13 * *", "2026-01-01T00:00:00Z", 1), (Times{"2026-01-13T00:00:00Z"}));
}

TEST(CronSchedule, WordsStandForSchedules) {
  EXPECT_EQ(next_times("@hourly", "2026-01-01T00:30:10Z", 1), (Times{"2026-01-01T01:00:00Z"}));
  EXPECT_EQ(next_times("@daily", "2026-01-01T00:30:00Z", 1), (Times{"2026-01-02T00:00:00Z"}));
  EXPECT_EQ(next_times("@weekly", "2026-01-01T00:30:00Z", 1), (Times{"2026-01-04T00:00:00Z"}));
  EXPECT_EQ(next_times("@monthly", "2026-01-01T00:30:00Z", 1), (Times{"2026-02-01T00:00:00Z"}));
  EXPECT_EQ(next_times("@yearly", "2026-01-01T00:30:00Z", 1), (Times{"2027-01-01T00:00:00Z"}));
  EXPECT_EQ(next_times("@every 1h30m", "2026-01-01T00:30:10Z", 1), (Times{"2026-01-01T02:00:10Z"}));
}

TEST(CronSchedule, ADayThatNeverComesHasNoNextTime) {
  EXPECT_TRUE(next_times("59 23 31 2 *", "2026-01-01T00:00:00Z", 1).empty());
}

TEST(CronSchedule, WhatIsWrongIsSaidInKubernetesWords) {
  const auto error = [](const char* text) {
    const auto parsed = Schedule::parse(text);
    return parsed ? std::string("none") : parsed.error().message;
  };
  EXPECT_EQ(error("* * * *"), "expected exactly 5 fields, found 4: [* * * *]");
  EXPECT_EQ(error("60 * * * *"), "end of range (60) above maximum (59): 60");
  EXPECT_EQ(error("* * 0 * *"), "beginning of range (0) below minimum (1): 0");
  EXPECT_EQ(error("5-1 * * * *"), "beginning of range (5) beyond end of range (1): 5-1");
  EXPECT_EQ(error("*/0 * * * *"), "step of range should be a positive number: */0");
  EXPECT_EQ(error("x * * * *"), "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax");
  EXPECT_EQ(error("1-2-3 * * * *"), "too many hyphens: 1-2-3");
  EXPECT_EQ(error("1/2/3 * * * *"), "too many slashes: 1/2/3");
  EXPECT_EQ(error("@never"), "unrecognized descriptor: @never");
  EXPECT_EQ(error(""), "empty spec string");
  EXPECT_EQ(error("* * * * 7"), "end of range (7) above maximum (6): 7");
}

TEST(CronSchedule, RunsByTheClocksOfItsZone) {
  // A file of nothing but a rule.
  const std::string header("TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
  const std::string counts("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\4", 24);
  const std::string type(
      "\0\0\x0e\x10\0\0"
      "CET",
      10);
  const auto berlin = TimeZone::parse(header + counts + type + header + counts + type + "\nCET-1CEST,M3.5.0,M10.5.0/3\n");
  ASSERT_TRUE(berlin) << berlin.error().message;
  EXPECT_EQ(next_times("0 9 * * *", "2026-03-28T12:00:00Z", 2, *berlin),
            (Times{"2026-03-29T09:00:00+02:00", "2026-03-30T09:00:00+02:00"}));
  EXPECT_EQ(next_times("0 9 * * *", "2026-10-24T12:00:00Z", 1, *berlin), (Times{"2026-10-25T09:00:00+01:00"}));
}

}  // namespace
}  // namespace fleetadm::sandbox::cron
