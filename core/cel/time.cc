#include "core/cel/time.h"

#include <array>
#include <charconv>
#include <limits>

#include "core/cel/convert.h"
#include "kubeclient/base/ascii.h"

namespace fleetadm::cel {

namespace {

constexpr std::int64_t kSecondsADay = 86400;

bool is_leap(std::int64_t year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

int days_in_month(std::int64_t year, int month) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kDays.at(static_cast<std::size_t>(month - 1));
}

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

void append_padded(std::string& text, std::int64_t value, std::size_t width) {
  const std::string digits = std::to_string(value);
  if (digits.size() < width) text.append(width - digits.size(), '0');
  text += digits;
}

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

std::int64_t days_from_civil(std::int64_t year, int month, int day) {
  // Years from March: the leap day is the last one. Eras of 400 years.
  year -= month <= 2 ? 1 : 0;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

CivilTime civil_time(std::int64_t seconds, std::int64_t offset_seconds) {
  const std::int64_t local = seconds + offset_seconds;
  std::int64_t days = local / kSecondsADay;
  std::int64_t rest = local % kSecondsADay;
  if (rest < 0) {
    rest += kSecondsADay;
    --days;
  }
  CivilTime time;
  time.hour = static_cast<int>(rest / 3600);
  time.minute = static_cast<int>(rest / 60 % 60);
  time.second = static_cast<int>(rest % 60);
  time.day_of_week = static_cast<int>(((days + 4) % 7 + 7) % 7);
  const std::int64_t shifted = days + 719468;
  const std::int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  const std::int64_t day_of_era = shifted - era * 146097;
  const std::int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month = (5 * day_of_year + 2) / 153;
  time.day = static_cast<int>(day_of_year - (153 * month + 2) / 5 + 1);
  time.month = static_cast<int>(month < 10 ? month + 3 : month - 9);
  time.year = year_of_era + era * 400 + (time.month <= 2 ? 1 : 0);
  time.day_of_year = static_cast<int>(days - days_from_civil(time.year, 1, 1));
  return time;
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
  if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) || hour > 23 || minute > 59 || second > 59)
    return std::nullopt;
  const std::int64_t seconds = days_from_civil(year, month, day) * kSecondsADay + hour * 3600 + minute * 60 + second - zone * 60;
  return Value::timestamp(seconds, nanos, static_cast<std::int16_t>(zone));
}

std::string format_timestamp(const Value& timestamp) {
  const CivilTime time = civil_time(timestamp.seconds(), std::int64_t{timestamp.zone()} * 60);
  std::string text;
  append_padded(text, time.year, 4);
  text += '-';
  append_padded(text, time.month, 2);
  text += '-';
  append_padded(text, time.day, 2);
  text += 'T';
  append_padded(text, time.hour, 2);
  text += ':';
  append_padded(text, time.minute, 2);
  text += ':';
  append_padded(text, time.second, 2);
  if (timestamp.nanos() != 0) {
    text += '.';
    append_padded(text, timestamp.nanos(), 9);
    text.erase(text.find_last_not_of('0') + 1);
  }
  if (timestamp.zone() == 0) return text + 'Z';
  const int minutes = timestamp.zone() < 0 ? -timestamp.zone() : timestamp.zone();
  text += timestamp.zone() < 0 ? '-' : '+';
  append_padded(text, minutes / 60, 2);
  text += ':';
  append_padded(text, minutes % 60, 2);
  return text;
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
