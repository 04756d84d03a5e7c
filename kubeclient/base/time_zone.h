// IANA time zones from the system's compiled files (RFC 9636), read without touching the process' own TZ, which could not be
// changed safely while other threads run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/posix_tz.h"
#include "kubeclient/base/result.h"

namespace fleetadm {

class TimeZone {
 public:
  static TimeZone utc() { return fixed(0); }
  static TimeZone fixed(std::int64_t offset_seconds);
  /// By its IANA name ("Europe/Berlin"; "" and "UTC" need no file). kInvalid `unknown time zone X` for others and for what
  /// cannot be such a name. Files are looked for where Go's library looks; read each time.
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
  std::optional<PosixTz> rule_;  // for the time after the last transition
};

}  // namespace fleetadm
