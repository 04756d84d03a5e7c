// IANA time zones from the system's compiled files (RFC 9636), read without touching the process' own TZ: that could not be
// changed safely while other threads run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/result.h"

namespace fleetadm::sandbox::cron {

/// A change of clocks that comes every year: "the last Sunday of March at 01:00".
struct YearlyChange {
  int month = 1;           // 1…12
  int week = 1;            // 1…5; 5: the last one
  int weekday = 0;         // 0: Sunday
  std::int64_t at = 7200;  // seconds after midnight by the clocks before the change; may be negative or beyond a day
};

/// What holds after the last transition that is listed: the POSIX TZ text at the end of a file.
struct YearlyRule {
  std::int64_t standard = 0;  // seconds east of UTC
  std::int64_t summer = 0;
  bool has_summer = false;
  YearlyChange begins;  // of summer time
  YearlyChange ends;
};

class TimeZone {
 public:
  static TimeZone utc() { return TimeZone(); }
  /// By its IANA name ("Europe/Berlin"; "" and "UTC" need no file). kInvalid `unknown time zone X` for others and for names
  /// that are no names. Files are looked for where the C library keeps them.
  static Result<TimeZone> load(std::string_view name);
  /// Of a file's bytes.
  static Result<TimeZone> parse(std::string_view bytes);

  /// Seconds east of UTC.
  std::int64_t offset_at(std::int64_t unix_time) const;
  /// The instant at which clocks there show this (seconds since 1970-01-01 00:00 by them). One of the two where they show it
  /// twice; where they skip it, what they would show had they not.
  std::int64_t unix_time(std::int64_t local) const;
  /// RFC 3339 with the zone's offset: "2026-03-29T03:00:00+02:00", "…Z" where it is none.
  std::string format(std::int64_t unix_time) const;

 private:
  struct Transition {
    std::int64_t at;
    std::int64_t offset;  // from then on
  };
  std::int64_t first_offset_ = 0;
  std::vector<Transition> transitions_;
  std::optional<YearlyRule> rule_;
};

/// "CET-1CEST,M3.5.0,M10.5.0/3"; nothing for forms other than that and "<+03>-3".
std::optional<YearlyRule> parse_yearly_rule(std::string_view text);

// The proleptic Gregorian calendar.
struct CivilDate {
  std::int64_t year;
  int month;  // 1…12
  int day;    // 1…31
};
std::int64_t days_from_civil(std::int64_t year, int month, int day);
CivilDate civil_from_days(std::int64_t days);
/// 0: Sunday.
int weekday_of(std::int64_t days);
/// Rounded towards minus infinity.
std::int64_t floor_div(std::int64_t a, std::int64_t b);

}  // namespace fleetadm::sandbox::cron
