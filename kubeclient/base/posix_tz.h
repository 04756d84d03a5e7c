// The rule at the end of a time zone's file: what holds after the last of its transitions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fleetadm {

/// A POSIX TZ text: "CET-1CEST,M3.5.0,M10.5.0/3", "<+03>-3".
class PosixTz {
 public:
  /// Nothing for what is no such text.
  static std::optional<PosixTz> parse(std::string_view text);

  /// Seconds east of UTC.
  std::int64_t offset_at(std::int64_t seconds) const;

 private:
  /// A day of every year on which clocks change.
  struct Change {
    enum class Day {
      kOfWeek,       // "M3.5.0": the fifth, which is the last, Sunday of March
      kWithoutLeap,  // "J60": 1 March in every year
      kOfYear,       // "59": counted from 0, with the leap day
    };
    Day day = Day::kOfWeek;
    int month = 1;           // 1…12
    int week = 1;            // 1…5; 5 is the last
    int weekday = 0;         // 0 is Sunday
    int number = 0;          // of the other two forms
    std::int64_t at = 7200;  // seconds after midnight by the clocks before the change; may be negative or beyond a day

    std::int64_t local_seconds(std::int64_t year) const;
  };
  class Reader;

  std::int64_t standard_ = 0;  // seconds east of UTC
  std::int64_t summer_ = 0;
  bool has_summer_ = false;
  Change begins_;  // of summer time
  Change ends_;
};

}  // namespace fleetadm
