#include "core/cel/time.h"

#include <limits>

#include "core/cel/convert.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/civil_time.h"

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

/// Nanoseconds of a unit's name; 0 where it is none.
std::uint64_t unit_of(std::string_view name) {
  if (name == "ns") return 1;
  if (name == "us" || name == "\xC2\xB5s" || name == "\xCE\xBCs") return 1'000;
  if (name == "ms") return 1'000'000;
  if (name == "s") return 1'000'000'000;
  if (name == "m") return 60'000'000'000;
  if (name == "h") return 3'600'000'000'000;
  return 0;
}

constexpr std::uint64_t kDurationLimit = std::uint64_t{1} << 63U;

/// One "1.5h" off the front, added to `total`.
bool take_duration_part(std::string_view& rest, std::uint64_t& total) {
  std::uint64_t whole = 0;
  std::size_t i = 0;
  for (; i < rest.size() && is_digit(rest[i]); ++i) {
    const auto digit = static_cast<std::uint64_t>(rest[i] - '0');
    if (whole > (kDurationLimit - digit) / 10) return false;
    whole = whole * 10 + digit;
  }
  bool digits = i > 0;
  double scale = 1;
  std::uint64_t fraction = 0;
  if (i < rest.size() && rest[i] == '.') {
    bool full = false;
    for (++i; i < rest.size() && is_digit(rest[i]); ++i) {
      digits = true;
      if (full || fraction > (kDurationLimit - 1) / 10) {
        full = true;
        continue;
      }
      fraction = fraction * 10 + static_cast<std::uint64_t>(rest[i] - '0');
      if (fraction > kDurationLimit) return false;
      scale *= 10;
    }
  }
  if (!digits) return false;
  rest.remove_prefix(i);
  std::size_t end = 0;
  while (end < rest.size() && rest[end] != '.' && !is_digit(rest[end])) ++end;
  const std::uint64_t unit = unit_of(rest.substr(0, end));
  if (unit == 0 || whole > kDurationLimit / unit) return false;
  rest.remove_prefix(end);
  std::uint64_t value = whole * unit;
  if (fraction > 0) value += static_cast<std::uint64_t>(static_cast<double>(fraction) * (static_cast<double>(unit) / scale));
  if (value > kDurationLimit) return false;
  total += value;
  return total <= kDurationLimit;
}

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
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest.front() == '-';
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) rest.remove_prefix(1);
  if (rest == "0") return 0;
  if (rest.empty()) return std::nullopt;
  std::uint64_t total = 0;
  while (!rest.empty()) {
    if (!take_duration_part(rest, total)) return std::nullopt;
  }
  if (negative) return total == kDurationLimit ? std::numeric_limits<std::int64_t>::min() : -static_cast<std::int64_t>(total);
  if (total >= kDurationLimit) return std::nullopt;
  return static_cast<std::int64_t>(total);
}

std::string format_duration(std::int64_t nanoseconds) {
  const double seconds = static_cast<double>(nanoseconds / kNanos) + static_cast<double>(nanoseconds % kNanos) / 1e9;
  return format_fixed(seconds) + "s";
}

}  // namespace fleetadm::cel
