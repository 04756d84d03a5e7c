// CEL's timestamps and durations as text and as calendar fields, in the forms of Go's time package (which upstream's strings
// are).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/cel/value.h"
#include "kubeclient/base/time_zone.h"

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

/// A time zone: "", "UTC", "Local", a name of the time zone database ("America/New_York"), or a fixed offset ("-02:30").
std::optional<TimeZone> zone_of(std::string_view text);

}  // namespace fleetadm::cel
