#include "kubeclient/base/time_zone.h"

#include <gtest/gtest.h>

#include "kubeclient/base/clock.h"

namespace fleetadm {
namespace {

std::int64_t unix_time(const char* text) {
  return std::chrono::floor<std::chrono::seconds>(*parse_time(text)).time_since_epoch().count();
}

std::int64_t offset(const char* rule, const char* at) {
  const auto parsed = PosixTz::parse(rule);
  return parsed ? parsed->offset_at(unix_time(at)) : -1;
}

TEST(TimeZone, ReadsPosixRules) {
  EXPECT_EQ(offset("<+03>-3", "2026-07-01T00:00:00Z"), 10800);
  const char* berlin = "CET-1CEST,M3.5.0,M10.5.0/3";
  EXPECT_EQ(offset(berlin, "2026-03-29T00:59:59Z"), 3600);
  EXPECT_EQ(offset(berlin, "2026-03-29T01:00:00Z"), 7200);
  EXPECT_EQ(offset(berlin, "2026-10-25T00:59:59Z"), 7200);
  EXPECT_EQ(offset(berlin, "2026-10-25T01:00:00Z"), 3600);
  const char* sydney = "AEST-10AEDT,M10.1.0,M4.1.0/3";
  EXPECT_EQ(offset(sydney, "2026-01-01T00:00:00Z"), 39600);
  EXPECT_EQ(offset(sydney, "2026-07-01T00:00:00Z"), 36000);
  // By the day of the year: 1 March is J60 in every year, 60 counted from 0 in a leap year.
  EXPECT_EQ(offset("XXX0YYY,J60/0,J300/0", "2024-02-29T12:00:00Z"), 0);
  EXPECT_EQ(offset("XXX0YYY,J60/0,J300/0", "2024-03-01T12:00:00Z"), 3600);
  EXPECT_EQ(offset("XXX0YYY,60/0,300/0", "2024-03-01T12:00:00Z"), 3600);
  EXPECT_EQ(offset("XXX0YYY,60/0,300/0", "2023-03-01T12:00:00Z"), 0);
  for (const char* bad : {"", "CET", "CE-1", "CET-1CEST", "CET-1CEST,M13.1.0,M1.1.0", "CET-1CEST,M3.5.0,M10.5.0/3x", "<CET-1"})
    EXPECT_FALSE(PosixTz::parse(bad)) << bad;
}

TEST(TimeZone, ReadsFiles) {
  // One transition, from 0 to one hour; its rule is that of Berlin.
  const std::string start("TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
  const std::string counts("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\2\0\0\0\4", 24);
  const std::string types(
      "\0\0\0\0\0\0\0\0\x0e\x10\0\0"
      "CET\0",
      16);
  const std::string old_block(std::string("\0\0\0\0\1", 5) + types);
  const std::string block(std::string("\0\0\0\0\0\0\0\0\1", 9) + types);
  const std::string file = start + counts + old_block + start + counts + block;
  const auto plain = TimeZone::parse(file + "\n\n");
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->offset_at(-1), 0);
  EXPECT_EQ(plain->offset_at(0), 3600);
  EXPECT_EQ(plain->offset_at(unix_time("2026-07-01T00:00:00Z")), 3600);
  const auto berlin = TimeZone::parse(file + "\nCET-1CEST,M3.5.0,M10.5.0/3\n");
  ASSERT_TRUE(berlin);
  EXPECT_EQ(berlin->format(unix_time("2026-07-01T00:00:00Z")), "2026-07-01T02:00:00+02:00");
  EXPECT_EQ(berlin->unix_time(unix_time("2026-07-01T02:00:00Z")), unix_time("2026-07-01T00:00:00Z"));
  for (std::size_t size = 0; size < file.size(); ++size) EXPECT_FALSE(TimeZone::parse(file.substr(0, size))) << size;
  std::string wrong = file;
  wrong[wrong.size() - types.size() - 1] = 2;  // a type that there is not
  EXPECT_FALSE(TimeZone::parse(wrong));
}

TEST(TimeZone, LooksUpNamesOfZonesAlone) {
  for (const char* name : {"../../../etc/passwd", "/etc/localtime", "No/Such_Zone", "Europe//Berlin", "a b", "-x", "."}) {
    const auto zone = TimeZone::load(name);
    ASSERT_FALSE(zone) << name;
    EXPECT_EQ(zone.error().message, "unknown time zone " + std::string(name));
  }
  EXPECT_TRUE(TimeZone::load("UTC"));
  EXPECT_EQ(TimeZone::load("")->format(0), "1970-01-01T00:00:00Z");
}

}  // namespace
}  // namespace fleetadm
