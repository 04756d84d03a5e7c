// The fields of calendar and clock of an instant, and RFC 3339's text of them.
#pragma once

#include <cstdint>
#include <string>

namespace fleetadm {

inline constexpr std::int64_t kSecondsPerDay = 86400;

struct CivilTime {
  std::int64_t year = 1970;
  int month = 1;  // 1…12
  int day = 1;    // 1…31
  int hour = 0;
  int minute = 0;
  int second = 0;
  int day_of_week = 0;  // 0 is Sunday
  int day_of_year = 0;  // from 0
};

/// In the proleptic Gregorian calendar. Seconds count from 1970-01-01T00:00:00Z; the offset is that of the clock east of UTC.
/// Years from -32767 to 32767.
CivilTime civil_time(std::int64_t seconds, std::int64_t offset_seconds = 0);
/// Days from 1970-01-01 to a date that exists.
std::int64_t days_from_civil(std::int64_t year, int month, int day);
bool is_date(std::int64_t year, int month, int day);

/// "2026-08-11T08:03:33".
std::string format_date_time(const CivilTime& time);
/// "+02:00"; "Z" for zero.
std::string format_utc_offset(std::int64_t minutes);

}  // namespace fleetadm
