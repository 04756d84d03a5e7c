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

struct Unit {
  std::string_view name;
  std::int64_t nanos;
};
constexpr std::array<Unit, 8> kUnits = {{{"ns", 1},
                                         {"us", 1'000},
                                         {"\xC2\xB5s", 1'000},
                                         {"\xCE\xBCs", 1'000},
                                         {"ms", 1'000'000},
                                         {"s", 1'000'000'000},
                                         {"m", 60'000'000'000},
                                         {"h", 3'600'000'000'000}}};

tl::unexpected<Error> bad_duration(std::string_view what, std::string_view text) {
  return fail(Category::kUsage, std::string(what) + " duration \"" + std::string(text) + "\"",
              "write a number with a unit, such as 30s, 5m or 1h30m");
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
  bool negative = false;
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) {
    negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  if (rest == "0") return Duration::zero();
  if (rest.empty()) return bad_duration("invalid", text);
  std::int64_t exact = 0;
  while (!rest.empty()) {
    std::int64_t whole = 0;
    bool digits = false;
    while (!rest.empty() && is_digit(rest.front())) {
      if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, rest.front() - '0', &whole)) {
        return bad_duration("invalid", text);
      }
      digits = true;
      rest.remove_prefix(1);
    }
    long double fraction = 0;
    if (!rest.empty() && rest.front() == '.') {
      rest.remove_prefix(1);
      long double weight = 1;
      while (!rest.empty() && is_digit(rest.front())) {
        weight /= 10;
        fraction += weight * static_cast<long double>(rest.front() - '0');
        digits = true;
        rest.remove_prefix(1);
      }
    }
    if (!digits) return bad_duration("invalid", text);
    std::size_t length = 0;
    while (length < rest.size() && rest[length] != '.' && !is_digit(rest[length])) ++length;
    if (length == 0) return bad_duration("missing unit in", text);
    const std::string_view name = rest.substr(0, length);
    rest.remove_prefix(length);
    std::int64_t scale = 0;
    for (const Unit& unit : kUnits) {
      if (unit.name == name) scale = unit.nanos;
    }
    if (scale == 0) return bad_duration("unknown unit \"" + std::string(name) + "\" in", text);
    std::int64_t part = 0;
    if (__builtin_mul_overflow(whole, scale, &part)) return bad_duration("invalid", text);
    const auto fraction_nanos = static_cast<std::int64_t>(fraction * static_cast<long double>(scale) + 1e-6L);
    if (__builtin_add_overflow(part, fraction_nanos, &part) || __builtin_add_overflow(exact, part, &exact)) {
      return bad_duration("invalid", text);
    }
  }
  return Duration(negative ? -exact : exact);
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
