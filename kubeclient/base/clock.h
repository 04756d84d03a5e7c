// Time: the Clock seam, RFC 3339, Go durations.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kubeclient/base/result.h"

namespace fleetadm {

using Instant = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;
using Duration = std::chrono::nanoseconds;

/// The wall clock as a seam: production reads the system's, tests move theirs by hand.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;
  static std::shared_ptr<Clock> system();
};

class FakeClock final : public Clock {
 public:
  explicit FakeClock(Instant start) : now_(start) {}
  Instant now() const override { return now_; }
  void advance(Duration by) { now_ += by; }
  void set(Instant to) { now_ = to; }

 private:
  Instant now_;
};

/// metav1.Time: "2026-08-11T08:03:33Z", whole seconds, UTC.
std::string format_time(Instant at);
/// metav1.MicroTime: six fractional digits.
std::string format_micro_time(Instant at);
/// RFC 3339 with optional fraction (up to nanoseconds) and offset. Years outside 1678…2261 saturate.
std::optional<Instant> parse_time(std::string_view text);

/// Go's time.ParseDuration: "1h2m3.5s", "300ms", "-1m", "0". Without a unit (but "0"): Category::kUsage.
Result<Duration> parse_duration(std::string_view text);
/// Go's Duration.String(): "1h2m3.5s", "0s".
std::string format_duration(Duration value);
/// kubectl's age column: "5s", "3m12s", "4h", "12d", "2y35d"; "<unknown>" for a zero instant.
std::string format_age(Instant since, Instant now);

}  // namespace fleetadm
