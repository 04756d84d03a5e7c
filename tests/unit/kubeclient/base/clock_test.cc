#include "kubeclient/base/clock.h"

#include <gtest/gtest.h>
#include <limits>

namespace fleetadm {
namespace {

using namespace std::chrono_literals;

TEST(Time, RoundTrips) {
  const auto at = parse_time("2026-08-11T08:03:33.123456789Z");
  ASSERT_TRUE(at);
  EXPECT_EQ(format_time(*at), "2026-08-11T08:03:33Z");
  EXPECT_EQ(format_micro_time(*at), "2026-08-11T08:03:33.123456Z");
  EXPECT_EQ(at->time_since_epoch().count() % 1'000'000'000, 123456789);
}

TEST(Time, Offsets) {
  EXPECT_EQ(format_time(*parse_time("2026-01-01T01:30:00+02:00")), "2025-12-31T23:30:00Z");
  EXPECT_EQ(format_time(*parse_time("2026-01-01T01:30:00-00:30")), "2026-01-01T02:00:00Z");
  EXPECT_EQ(format_time(*parse_time("1969-12-31T23:59:59Z")), "1969-12-31T23:59:59Z");
  EXPECT_EQ(*parse_time("1970-01-01T00:00:00Z"), Instant{});
}

TEST(Time, SaturatesOutsideTheClocksRange) {
  EXPECT_EQ(*parse_time("9999-12-31T23:59:59Z"), Instant::max());
  EXPECT_EQ(*parse_time("0001-01-01T00:00:00Z"), Instant::min());
}

class BadTimes : public testing::TestWithParam<const char*> {};
TEST_P(BadTimes, AreRefused) { EXPECT_FALSE(parse_time(GetParam())); }
INSTANTIATE_TEST_SUITE_P(Table, BadTimes,
                         testing::Values("", "2026", "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z",
                                         "2026-01-01T00:60:00Z", "2026-01-01T00:00:61Z", "2026-01-01 00:00:00Z",
                                         "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Zx",
                                         "2026-01-01T00:00:00+24:00", "2026-1-01T00:00:00Z", "+026-01-01T00:00:00Z"));

struct DurationCase {
  const char* text;
  std::int64_t nanos;
  const char* written;
};
class Durations : public testing::TestWithParam<DurationCase> {};
TEST_P(Durations, ParseAndFormatAsGo) {
  const auto value = parse_duration(GetParam().text);
  ASSERT_TRUE(value) << GetParam().text;
  EXPECT_EQ(value->count(), GetParam().nanos);
  EXPECT_EQ(format_duration(*value), GetParam().written);
}
INSTANTIATE_TEST_SUITE_P(
    Table, Durations,
    testing::Values(DurationCase{"0", 0, "0s"}, DurationCase{"5s", 5'000'000'000, "5s"},
                    DurationCase{"1h", 3'600'000'000'000, "1h0m0s"}, DurationCase{"1h2m3.5s", 3'723'500'000'000, "1h2m3.5s"},
                    DurationCase{"-1m", -60'000'000'000, "-1m0s"}, DurationCase{"+300ms", 300'000'000, "300ms"},
                    DurationCase{".5s", 500'000'000, "500ms"}, DurationCase{"5.s", 5'000'000'000, "5s"},
                    DurationCase{"1us", 1'000, "1\xC2\xB5s"}, DurationCase{"1.5\xC2\xB5s", 1'500, "1.5\xC2\xB5s"},
                    DurationCase{"2\xCE\xBCs", 2'000, "2\xC2\xB5s"}, DurationCase{"7ns", 7, "7ns"},
                    DurationCase{"1.000000001s", 1'000'000'001, "1.000000001s"}, DurationCase{"1.1ms", 1'100'000, "1.1ms"},
                    DurationCase{"100h", 360'000'000'000'000, "100h0m0s"},
                    DurationCase{"0.3333333333333333333h", 1'200'000'000'000, "20m0s"},
                    DurationCase{"-9223372036854775808ns", std::numeric_limits<std::int64_t>::min(), "-2562047h47m16.854775808s"},
                    DurationCase{"2540400h10m10s", 9'145'440'610'000'000'000, "2540400h10m10s"}));

class BadDurations : public testing::TestWithParam<const char*> {};
TEST_P(BadDurations, AreUsageErrors) {
  const auto value = parse_duration(GetParam());
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().category, Category::kUsage);
}
INSTANTIATE_TEST_SUITE_P(Table, BadDurations,
                         testing::Values("", "-", "3", "1d", ".", ".s", "s", "1h 2m", "1e3s", "99999999999999999999s", "2562048h",
                                         "9223372036854775808ns", "--1s", "1s2"));

TEST(Durations, MissingUnitIsNamed) { EXPECT_EQ(parse_duration("30").error().message, "missing unit in duration \"30\""); }

struct AgeCase {
  Duration age;
  const char* text;
};
class Ages : public testing::TestWithParam<AgeCase> {};
TEST_P(Ages, AreKubectls) {
  const Instant now = *parse_time("2026-06-01T00:00:00Z");
  EXPECT_EQ(format_age(now - GetParam().age, now), GetParam().text);
}
INSTANTIATE_TEST_SUITE_P(Table, Ages,
                         testing::Values(AgeCase{0s, "0s"}, AgeCase{5s, "5s"}, AgeCase{119s, "119s"}, AgeCase{120s, "2m"},
                                         AgeCase{192s, "3m12s"}, AgeCase{599s, "9m59s"}, AgeCase{600s, "10m"},
                                         AgeCase{179min, "179m"}, AgeCase{180min, "3h"}, AgeCase{185min, "3h5m"},
                                         AgeCase{479min, "7h59m"}, AgeCase{8h, "8h"}, AgeCase{47h, "47h"}, AgeCase{48h, "2d"},
                                         AgeCase{50h, "2d2h"}, AgeCase{191h, "7d23h"}, AgeCase{192h, "8d"},
                                         AgeCase{24h * 729, "729d"}, AgeCase{24h * 730, "2y"}, AgeCase{24h * 765, "2y35d"},
                                         AgeCase{24h * 365 * 8, "8y"}, AgeCase{-500ms, "0s"}, AgeCase{-1s, "0s"},
                                         AgeCase{-5s, "<invalid>"}));

TEST(Ages, UnknownAndExtremes) {
  const Instant now = *parse_time("2026-06-01T00:00:00Z");
  EXPECT_EQ(format_age(Instant{}, now), "<unknown>");
  EXPECT_EQ(format_age(Instant::min(), now), "292y");
  EXPECT_EQ(format_age(Instant::max(), now), "<invalid>");
}

TEST(Clocks, FakeMovesByHandAndSystemRuns) {
  FakeClock clock{*parse_time("2026-06-01T00:00:00Z")};
  clock.advance(90s);
  EXPECT_EQ(format_time(clock.now()), "2026-06-01T00:01:30Z");
  EXPECT_GT(Clock::system()->now(), *parse_time("2020-01-01T00:00:00Z"));
}

}  // namespace
}  // namespace fleetadm
