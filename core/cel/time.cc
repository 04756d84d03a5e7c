#include "core/cel/time.h"

#include <limits>

#include "core/cel/convert.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/civil_time.h"
#include "kubeclient/base/clock.h"

namespace fleetadm::cel {

namespace {

/// Takes fields of fixed width off the front of a text.
class Fields {
 public:
  explicit Fields(std::string_view text) : rest_(text) {}

  /// A number of `width` digits; of hours Go also takes one digit.
  bool number(std::size_t width, int& value, bool one_digit_will_do = false) {
    std::size_t digits = 0;
    value = 0;
    while (digits < width && digits < rest_.size() && is_digit(rest_[digits])) value = value * 10 + (rest_[digits++] - '0');
    if (digits != width && !(one_digit_will_do && digits == 1)) return false;
    rest_.remove_prefix(digits);
    return true;
  }
  bool literal(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// A point or comma and digits; what is beyond nanoseconds is cut off. Absent is fine.
  std::int32_t fraction() {
    if (rest_.size() < 2 || (rest_[0] != '.' && rest_[0] != ',') || !is_digit(rest_[1])) return 0;
    std::int32_t nanos = 0;
    std::int32_t unit = 100'000'000;
    std::size_t i = 1;
    for (; i < rest_.size() && is_digit(rest_[i]); ++i) {
      nanos += unit * (rest_[i] - '0');
      unit /= 10;
    }
    rest_.remove_prefix(i);
    return nanos;
  }
  /// Minutes east of UTC.
  bool zone(int& minutes) {
    minutes = 0;
    if (literal('Z')) return true;
    const bool west = !rest_.empty() && rest_.front() == '-';
    if (!west && (rest_.empty() || rest_.front() != '+')) return false;
    rest_.remove_prefix(1);
    int hour = 0;
    int minute = 0;
    if (!number(2, hour) || !literal(':') || !number(2, minute) || hour > 24 || minute > 60) return false;
    minutes = (west ? -1 : 1) * (hour * 60 + minute);
    return true;
  }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace

std::optional<TimeZone> zone_of(std::string_view text) {
  if (text == "Local") return TimeZone::utc();
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    auto zone = TimeZone::load(text);
    return zone ? std::optional(std::move(*zone)) : std::nullopt;
  }
  const auto hours = parse_int(text.substr(0, colon));
  const auto minutes = parse_int(text.substr(colon + 1));
  constexpr std::int64_t kLimit = 1'000'000;
  if (!hours || !minutes || *hours > kLimit || *hours < -kLimit || *minutes > kLimit || *minutes < -kLimit) return std::nullopt;
  return TimeZone::fixed((*hours * 60 + (text.front() == '-' ? -*minutes : *minutes)) * 60);
}

std::optional<Value> parse_timestamp(std::string_view text) {
  Fields fields(text);
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int zone = 0;
  if (!fields.number(4, year) || !fields.literal('-') || !fields.number(2, month) || !fields.literal('-') ||
      !fields.number(2, day) || !fields.literal('T') || !fields.number(2, hour, true) || !fields.literal(':') ||
      !fields.number(2, minute) || !fields.literal(':') || !fields.number(2, second)) {
    return std::nullopt;
  }
  const std::int32_t nanos = fields.fraction();
  if (!fields.zone(zone) || !fields.done()) return std::nullopt;
  if (!is_date(year, month, day) || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const std::int64_t seconds =
      days_from_civil(year, month, day) * kSecondsPerDay + hour * 3600 + minute * 60 + second - zone * 60;
  return Value::timestamp(seconds, nanos, static_cast<std::int16_t>(zone));
}

std::string format_timestamp(const Value& timestamp) {
  const std::int64_t minutes = timestamp.zone();
  std::string text = format_date_time(civil_time(timestamp.seconds(), minutes * 60));
  if (timestamp.nanos() != 0) {
    const std::string digits = std::to_string(timestamp.nanos());
    text += '.' + std::string(9 - digits.size(), '0') + digits;
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text + format_utc_offset(minutes);
}

std::optional<std::int64_t> parse_duration(std::string_view text) {
  const auto duration = fleetadm::parse_duration(text);
  return duration ? std::optional<std::int64_t>(duration->count()) : std::nullopt;
}

std::string format_duration(std::int64_t nanoseconds) {
  const double seconds = static_cast<double>(nanoseconds / kNanos) + static_cast<double>(nanoseconds % kNanos) / 1e9;
  return format_fixed(seconds) + "s";
}

}  // namespace fleetadm::cel
