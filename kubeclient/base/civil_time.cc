#include "kubeclient/base/civil_time.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace fleetadm {
namespace {

std::chrono::year_month_day date_of(std::int64_t year, int month, int day) {
  return {std::chrono::year(static_cast<int>(year)), std::chrono::month(static_cast<unsigned>(month)),
          std::chrono::day(static_cast<unsigned>(day))};
}

}  // namespace

CivilTime civil_time(std::int64_t seconds, std::int64_t offset_seconds) {
  const std::chrono::sys_seconds local(std::chrono::seconds(seconds + offset_seconds));
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(local - day);
  CivilTime out;
  out.year = static_cast<int>(date.year());
  out.month = static_cast<int>(static_cast<unsigned>(date.month()));
  out.day = static_cast<int>(static_cast<unsigned>(date.day()));
  out.hour = static_cast<int>(time.hours().count());
  out.minute = static_cast<int>(time.minutes().count());
  out.second = static_cast<int>(time.seconds().count());
  out.day_of_week = static_cast<int>(std::chrono::weekday(day).c_encoding());
  out.day_of_year = static_cast<int>((day - std::chrono::sys_days(date.year() / std::chrono::January / 1)).count());
  return out;
}

std::int64_t days_from_civil(std::int64_t year, int month, int day) {
  return std::chrono::sys_days(date_of(year, month, day)).time_since_epoch().count();
}

bool is_date(std::int64_t year, int month, int day) { return month > 0 && day > 0 && date_of(year, month, day).ok(); }

std::string format_date_time(const CivilTime& time) {
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d", static_cast<int>(time.year), time.month, time.day,
                time.hour, time.minute, time.second);
  return text.data();
}

std::string format_utc_offset(std::int64_t minutes) {
  if (minutes == 0) return "Z";
  const auto distance = std::abs(minutes);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%c%02d:%02d", minutes < 0 ? '-' : '+', static_cast<int>(distance / 60),
                static_cast<int>(distance % 60));
  return text.data();
}

}  // namespace fleetadm
