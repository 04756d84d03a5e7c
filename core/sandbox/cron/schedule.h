// Cron schedules as CronJobs have them: five fields with lists, ranges, steps and names, the words from @hourly to @yearly, and
// "@every 1h30m".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kubeclient/base/result.h"
#include "kubeclient/base/time_zone.h"

namespace fleetadm::sandbox::cron {

class Schedule {
 public:
  /// kInvalid with the words of Kubernetes' parser.
  static Result<Schedule> parse(std::string_view text);

  /// The first time after that one (seconds since 1970, both), by the clocks of the zone. Nothing where there is none within
  /// five years: the 30th of February.
  std::optional<std::int64_t> next(std::int64_t after, const TimeZone& zone) const;

  /// The zone that the text begins with ("TZ=Europe/Berlin …"), which new CronJobs may not have.
  const std::string& zone() const { return zone_; }

 private:
  struct Field {
    std::uint64_t bits = 0;
    bool any = false;  // "*" or "?": days of the month and of the week both have to fit then
    bool has(std::int64_t value) const { return ((bits >> value) & 1U) != 0; }
  };
  struct Bounds;
  static Result<Field> parse_field(std::string_view text, const Bounds& bounds);
  static Result<Field> parse_range(std::string_view text, const Bounds& bounds);
  static Result<Schedule> parse_word(const std::string& text);
  bool fits_day(int day, int weekday) const;

  Field minute_, hour_, day_, month_, weekday_;
  std::int64_t every_ = 0;  // seconds; the fields do not count then
  std::string zone_;
};

}  // namespace fleetadm::sandbox::cron
