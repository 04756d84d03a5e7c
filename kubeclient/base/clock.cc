#include "kubeclient/base/clock.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/civil_time.h"

namespace fleetadm {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

class SystemClock final : public Clock {
 public:
  Instant now() const override { return std::chrono::time_point_cast<nanoseconds>(std::chrono::system_clock::now()); }
};

std::string format_seconds(Instant at, std::string_view rest) {
  const auto whole = std::chrono::floor<seconds>(at);
  return format_date_time(civil_time(whole.time_since_epoch().count())).append(rest);
}

// Reads a text of fixed-width numbers and separators from the left.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}
  bool number(std::size_t digits, int& out) {
    if (rest_.size() < digits) return false;
    out = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (rest_[i] < '0' || rest_[i] > '9') return false;
      out = out * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    return true;
  }
  bool skip(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool digit() const { return !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; }
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

tl::unexpected<Error> bad_duration(std::string_view what, std::string_view text) {
  return fail(Category::kUsage, std::string(what) + " duration \"" + std::string(text) + "\"",
              "write a number with a unit, such as 30s, 5m or 1h30m");
}

constexpr std::uint64_t kDurationLimit = std::uint64_t{1} << 63U;

/// One "1.5h" off the front of `rest`, added to `total`, with Go's roundings. `text` is the whole.
Status take_duration_part(std::string_view& rest, std::uint64_t& total, std::string_view text) {
  std::uint64_t whole = 0;
  std::size_t i = 0;
  for (; i < rest.size() && is_digit(rest[i]); ++i) {
    const auto digit = static_cast<std::uint64_t>(rest[i] - '0');
    if (whole > (kDurationLimit - digit) / 10) return bad_duration("invalid", text);
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
      if (fraction > kDurationLimit) return bad_duration("invalid", text);
      scale *= 10;
    }
  }
  if (!digits) return bad_duration("invalid", text);
  rest.remove_prefix(i);
  std::size_t end = 0;
  while (end < rest.size() && rest[end] != '.' && !is_digit(rest[end])) ++end;
  if (end == 0) return bad_duration("missing unit in", text);
  const std::string_view name = rest.substr(0, end);
  const std::uint64_t unit = unit_of(name);
  if (unit == 0) return bad_duration("unknown unit \"" + std::string(name) + "\" in", text);
  if (whole > kDurationLimit / unit) return bad_duration("invalid", text);
  rest.remove_prefix(end);
  std::uint64_t value = whole * unit;
  if (fraction > 0) value += static_cast<std::uint64_t>(static_cast<double>(fraction) * (static_cast<double>(unit) / scale));
  if (value > kDurationLimit) return bad_duration("invalid", text);
  total += value;
  if (total > kDurationLimit) return bad_duration("invalid", text);
  return {};
}

// `count` of unit "u" (10^scale nanoseconds) with its fraction and without trailing zeros.
std::string with_fraction(std::uint64_t nanos, int scale) {
  std::uint64_t divisor = 1;
  for (int i = 0; i < scale; ++i) divisor *= 10;
  std::string text = std::to_string(nanos / divisor);
  std::uint64_t rest = nanos % divisor;
  if (rest == 0) return text;
  std::string digits = std::to_string(rest);
  digits.insert(0, static_cast<std::size_t>(scale) - digits.size(), '0');
  while (digits.back() == '0') digits.pop_back();
  return text + "." + digits;
}

std::string two(std::int64_t major, const char* unit, std::int64_t minor, const char* minor_unit) {
  std::string text = std::to_string(major) + unit;
  if (minor != 0) text += std::to_string(minor) + minor_unit;
  return text;
}

}  // namespace

std::shared_ptr<Clock> Clock::system() {
  static const auto kClock = std::make_shared<SystemClock>();
  return kClock;
}

std::string format_time(Instant at) { return format_seconds(at, "Z"); }

std::string format_micro_time(Instant at) {
  const auto whole = std::chrono::floor<seconds>(at);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(at - whole).count();
  std::array<char, 16> buffer{};
  const int length = std::snprintf(buffer.data(), buffer.size(), ".%06dZ", static_cast<int>(micros));
  return format_seconds(at, std::string_view(buffer.data(), static_cast<std::size_t>(length)));
}

std::optional<Instant> parse_time(std::string_view text) {
  Scanner scan(text);
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!scan.number(4, year) || !scan.skip('-') || !scan.number(2, month) || !scan.skip('-') || !scan.number(2, day)) return {};
  if (!scan.skip('T') && !scan.skip('t')) return {};
  if (!scan.number(2, hour) || !scan.skip(':') || !scan.number(2, minute) || !scan.skip(':') || !scan.number(2, second))
    return {};
  std::int64_t nanos = 0;
  if (scan.skip('.')) {
    if (!scan.digit()) return {};
    std::int64_t weight = 100'000'000;
    for (int value = 0; scan.digit(); weight /= 10) {
      scan.number(1, value);
      nanos += value * weight;
    }
  }
  int offset_minutes = 0;
  if (!scan.skip('Z') && !scan.skip('z')) {
    const bool minus = scan.skip('-');
    int offset_hour = 0, offset_minute = 0;
    if (!minus && !scan.skip('+')) return {};
    if (!scan.number(2, offset_hour) || !scan.skip(':') || !scan.number(2, offset_minute)) return {};
    if (offset_hour > 23 || offset_minute > 59) return {};
    offset_minutes = (offset_hour * 60 + offset_minute) * (minus ? -1 : 1);
  }
  if (!scan.done() || !is_date(year, month, day) || hour > 23 || minute > 59 || second > 59) return {};
  const seconds since = seconds(days_from_civil(year, month, day) * kSecondsPerDay) +
                        seconds(hour * 3600 + minute * 60 + second - offset_minutes * 60);
  constexpr std::int64_t kLimit = std::numeric_limits<std::int64_t>::max() / 1'000'000'000 - 1;
  if (since.count() > kLimit) return Instant::max();
  if (since.count() < -kLimit) return Instant::min();
  return Instant(nanoseconds(since) + nanoseconds(nanos));
}

Result<Duration> parse_duration(std::string_view text) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return Duration::zero();
  if (rest.empty()) return bad_duration("invalid", text);
  std::uint64_t total = 0;
  while (!rest.empty()) FLEETADM_CHECK(take_duration_part(rest, total, text));
  if (negative) return Duration(static_cast<std::int64_t>(0 - total));
  if (total >= kDurationLimit) return bad_duration("invalid", text);
  return Duration(static_cast<std::int64_t>(total));
}

std::string format_duration(Duration value) {
  if (value == Duration::zero()) return "0s";
  const std::int64_t count = value.count();
  const std::string sign = count < 0 ? "-" : "";
  const std::uint64_t nanos = count < 0 ? 0 - static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
  if (nanos < 1'000) return sign + std::to_string(nanos) + "ns";
  if (nanos < 1'000'000) return sign + with_fraction(nanos, 3) + "\xC2\xB5s";
  if (nanos < 1'000'000'000) return sign + with_fraction(nanos, 6) + "ms";
  constexpr std::uint64_t kMinute = 60'000'000'000;
  const std::uint64_t minutes = nanos / kMinute;
  const std::string tail = with_fraction(nanos % kMinute, 9) + "s";
  if (minutes == 0) return sign + tail;
  if (minutes < 60) return sign + std::to_string(minutes) + "m" + tail;
  return sign + std::to_string(minutes / 60) + "h" + std::to_string(minutes % 60) + "m" + tail;
}

std::string format_age(Instant since, Instant now) {
  if (since == Instant{}) return "<unknown>";
  Duration age{};
  std::int64_t nanos = 0;
  if (__builtin_sub_overflow(now.time_since_epoch().count(), since.time_since_epoch().count(), &nanos)) {
    age = now > since ? Duration::max() : Duration::min();
  } else {
    age = Duration(nanos);
  }
  // kubectl's steps: the nearer the past, the finer the text. A little clock skew is not worth a complaint.
  const std::int64_t total = std::chrono::duration_cast<seconds>(age).count();
  if (total < -1) return "<invalid>";
  if (total < 0) return "0s";
  if (total < 120) return std::to_string(total) + "s";
  const std::int64_t minutes = total / 60;
  if (minutes < 10) return two(minutes, "m", total % 60, "s");
  if (minutes < 180) return std::to_string(minutes) + "m";
  const std::int64_t hours = minutes / 60;
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return std::to_string(hours) + "h";
  if (hours < 24 * 8) return two(hours / 24, "d", hours % 24, "h");
  if (hours < 24 * 365 * 2) return std::to_string(hours / 24) + "d";
  if (hours < 24 * 365 * 8) return two(hours / 24 / 365, "y", hours / 24 % 365, "d");
  return std::to_string(hours / 24 / 365) + "y";
}

}  // namespace fleetadm
