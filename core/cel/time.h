// CEL's timestamps and durations as text and as calendar fields, in the forms of Go's time package (which upstream's strings
// are).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cel/value.h"

namespace fleetadm::cel {

/// 0001-01-01T00:00:00Z … 9999-12-31T23:59:59Z.
inline constexpr std::int64_t kMinTimestamp = -62135596800;
inline constexpr std::int64_t kMaxTimestamp = 253402300799;
inline constexpr std::int64_t kNanos = 1'000'000'000;  // of a second

/// A timestamp from RFC 3339 text (Go's leniencies included: one-digit hours, a comma before the fraction); none where it is
/// none. The range is not checked.
std::optional<Value> parse_timestamp(std::string_view text);
/// RFC 3339 with as many digits of the fraction as needed, in the value's own zone.
std::string format_timestamp(const Value& timestamp);
/// Nanoseconds of Go's duration text ("1h30m", "-1.5s", "2us"); none where it is none or overflows.
std::optional<std::int64_t> parse_duration(std::string_view text);
/// Seconds in decimal with an "s": "5400s", "0.000001s".
std::string format_duration(std::int64_t nanoseconds);

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
CivilTime civil_time(std::int64_t seconds, std::int64_t offset_seconds = 0);
std::int64_t days_from_civil(std::int64_t year, int month, int day);

/// A time zone: "", "UTC", a name of the time zone database ("America/New_York"), or a fixed offset ("-02:30").
class Zone {
 public:
  /// Reads the system's database where it is a name: callers load once and keep it where they can. None where it is no zone.
  static std::optional<Zone> load(std::string_view name);
  /// Seconds east of UTC at an instant.
  std::int64_t offset_at(std::int64_t seconds) const;

 private:
  struct Transition {
    std::int64_t at;
    std::int64_t offset;
  };
  /// "<offset before the first transition>", then what holds from each transition on.
  std::int64_t first_ = 0;
  std::vector<Transition> transitions_;
  std::string rule_;  // POSIX TZ text for the time after the last transition

  static std::optional<Zone> parse(std::string_view file);
};

}  // namespace fleetadm::cel
