#include "kubeclient/base/civil_time.h"

#include <gtest/gtest.h>

namespace fleetadm {
namespace {

TEST(CivilTime, CountsDaysAsTheCalendarDoes) {
  EXPECT_EQ(days_from_civil(1970, 1, 1), 0);
  EXPECT_EQ(civil_time(0).day_of_week, 4);
  for (const std::int64_t days : {-800000LL, -1LL, 0LL, 11016LL, 20454LL, 900000LL}) {
    const auto time = civil_time(days * kSecondsPerDay);
    EXPECT_EQ(days_from_civil(time.year, time.month, time.day), days);
    EXPECT_EQ(time.day_of_year, days - days_from_civil(time.year, 1, 1));
  }
  EXPECT_TRUE(is_date(2024, 2, 29));
  EXPECT_FALSE(is_date(2100, 2, 29));
  EXPECT_FALSE(is_date(2026, 13, 1));
  EXPECT_FALSE(is_date(2026, 1, -255));
}

TEST(CivilTime, IsWrittenAsOfItsOffset) {
  EXPECT_EQ(format_date_time(civil_time(-1)), "1969-12-31T23:59:59");
  EXPECT_EQ(format_date_time(civil_time(1774746000, 7200)), "2026-03-29T03:00:00");
  EXPECT_EQ(format_date_time(civil_time(-62135596800)), "0001-01-01T00:00:00");
  EXPECT_EQ(format_utc_offset(0), "Z");
  EXPECT_EQ(format_utc_offset(345), "+05:45");
  EXPECT_EQ(format_utc_offset(-150), "-02:30");
}

}  // namespace
}  // namespace fleetadm
