#include "core/sandbox/cron/time_zone.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "kubeclient/config/files.h"

namespace fleetadm::sandbox::cron {
namespace {

constexpr std::int64_t kDay = 86400;
constexpr std::size_t kLongestPart = 14;
constexpr std::uint32_t kMaxTransitions = 10000;
constexpr std::array kZoneFolders = {"/usr/share/zoneinfo/", "/usr/lib/zoneinfo/", "/usr/share/lib/zoneinfo/"};

/// Only letters, digits and a few signs in parts that are no dots: no other file can be reached by it.
bool is_zone_name(std::string_view name) {
  while (true) {
    const auto slash = name.find('/');
    const auto part = name.substr(0, slash);
    const bool good = !part.empty() && part.size() <= kLongestPart && part != "." && part != ".." && part.front() != '-' &&
                      std::all_of(part.begin(), part.end(), [](char c) {
                        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                               c == '-' || c == '_' || c == '+';
                      });
    if (!good) return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

/// Big-endian numbers, bounds checked: after a read beyond the end all is zero and `good` false.
class ZoneReader {
 public:
  explicit ZoneReader(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t number(std::size_t size) {
    if (rest_.size() < size) {
      good = false;
      rest_ = {};
      return 0;
    }
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < size; ++i) out = (out << 8) | static_cast<unsigned char>(rest_[i]);
    rest_.remove_prefix(size);
    return out;
  }
  std::int64_t signed_number(std::size_t size) {
    const auto raw = number(size);
    return size == 4 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(raw)) : static_cast<std::int64_t>(raw);
  }
  void skip(std::size_t size) {
    if (rest_.size() < size) good = false;
    rest_.remove_prefix(std::min(size, rest_.size()));
  }
  std::string_view rest() const { return rest_; }
  bool good = true;

 private:
  std::string_view rest_;
};

struct ZoneHeader {
  std::uint64_t version = 0, utc_flags = 0, standard_flags = 0, leaps = 0, times = 0, types = 0, letters = 0;
};

ZoneHeader read_header(ZoneReader& from) {
  ZoneHeader out;
  if (from.number(4) != 0x545a6966U) from.good = false;  // "TZif"
  out.version = from.number(1);
  from.skip(15);
  for (auto* field : {&out.utc_flags, &out.standard_flags, &out.leaps, &out.times, &out.types, &out.letters})
    *field = from.number(4);
  if (out.times > kMaxTransitions || out.types > 256 || out.letters > 4096 || out.leaps > 4096 || out.utc_flags > 256 ||
      out.standard_flags > 256)
    from.good = false;
  return out;
}

std::size_t size_of_data(const ZoneHeader& header, std::size_t time_size) {
  return static_cast<std::size_t>(header.times * (time_size + 1) + header.types * 6 + header.letters +
                                  header.leaps * (time_size + 4) + header.standard_flags + header.utc_flags);
}

/// Reads a POSIX TZ text from its beginning.
class RuleReader {
 public:
  explicit RuleReader(std::string_view text) : rest_(text) {}
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool at_end() const { return rest_.empty(); }
  bool next_is(char c) const { return !rest_.empty() && rest_.front() == c; }
  /// A zone's letters, which no one here needs.
  bool name() {
    std::size_t n = 0;
    if (next_is('<')) {
      n = rest_.find('>');
      if (n == std::string_view::npos) return false;
      ++n;
    } else {
      while (n < rest_.size() && ((rest_[n] >= 'a' && rest_[n] <= 'z') || (rest_[n] >= 'A' && rest_[n] <= 'Z'))) ++n;
    }
    rest_.remove_prefix(n);
    return n >= 3;
  }
  bool number(std::int64_t& out) {
    out = 0;
    std::size_t n = 0;
    while (n < rest_.size() && n < 4 && rest_[n] >= '0' && rest_[n] <= '9') out = out * 10 + (rest_[n++] - '0');
    rest_.remove_prefix(n);
    return n > 0;
  }
  /// [+-]hh[:mm[:ss]] in seconds.
  bool time(std::int64_t& out) {
    const bool negative = next_is('-');
    if (negative || next_is('+')) rest_.remove_prefix(1);
    std::int64_t part = 0;
    if (!number(part)) return false;
    out = part * 3600;
    std::int64_t unit = 60;
    while (unit > 0 && take(':')) {
      if (!number(part)) return false;
      out += part * unit;
      unit /= 60;
    }
    if (negative) out = -out;
    return true;
  }
  /// "M3.5.0/2".
  bool change(YearlyChange& out) {
    std::int64_t month = 0, week = 0, weekday = 0;
    if (!take('M') || !number(month) || !take('.') || !number(week) || !take('.') || !number(weekday)) return false;
    if (month < 1 || month > 12 || week < 1 || week > 5 || weekday > 6) return false;
    out.month = static_cast<int>(month);
    out.week = static_cast<int>(week);
    out.weekday = static_cast<int>(weekday);
    return !take('/') || time(out.at);
  }

 private:
  std::string_view rest_;
};

/// Seconds since 1970 by the clocks before the change.
std::int64_t local_time_of(const YearlyChange& change, std::int64_t year) {
  const auto first = days_from_civil(year, change.month, 1);
  auto day = first + (change.weekday - weekday_of(first) + 7) % 7 + 7 * (change.week - 1);
  const auto next_month = change.month == 12 ? days_from_civil(year + 1, 1, 1) : days_from_civil(year, change.month + 1, 1);
  while (day >= next_month) day -= 7;
  return day * kDay + change.at;
}

std::int64_t offset_by_rule(const YearlyRule& rule, std::int64_t unix_time) {
  if (!rule.has_summer) return rule.standard;
  const auto year = civil_from_days(floor_div(unix_time + rule.standard, kDay)).year;
  const auto begins = local_time_of(rule.begins, year) - rule.standard;
  const auto ends = local_time_of(rule.ends, year) - rule.summer;
  const bool summer =
      begins < ends ? unix_time >= begins && unix_time < ends : unix_time >= begins || unix_time < ends;  // the other half
  return summer ? rule.summer : rule.standard;
}

}  // namespace

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0); }

std::int64_t days_from_civil(std::int64_t year, int month, int day) {
  // Years that begin in March have their odd day at the end.
  const auto shifted = month <= 2 ? year - 1 : year;
  const auto era = floor_div(shifted, 400);
  const auto of_era = shifted - era * 400;
  const auto of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

CivilDate civil_from_days(std::int64_t days) {
  days += 719468;
  const auto era = floor_div(days, 146097);
  const auto of_era = days - era * 146097;
  const auto year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const auto of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const auto month = (5 * of_year + 2) / 153;
  const auto day = of_year - (153 * month + 2) / 5 + 1;
  const auto civil_month = month < 10 ? month + 3 : month - 9;
  return {year_of_era + era * 400 + (civil_month <= 2 ? 1 : 0), static_cast<int>(civil_month), static_cast<int>(day)};
}

int weekday_of(std::int64_t days) {
  const auto rest = (days + 4) % 7;  // 1970-01-01 was a Thursday
  return static_cast<int>(rest < 0 ? rest + 7 : rest);
}

std::optional<YearlyRule> parse_yearly_rule(std::string_view text) {
  RuleReader from(text);
  YearlyRule out;
  std::int64_t west = 0;  // offsets are written the other way round
  if (!from.name() || !from.time(west)) return std::nullopt;
  out.standard = -west;
  if (from.at_end()) return out;
  if (!from.name()) return std::nullopt;
  out.has_summer = true;
  out.summer = out.standard + 3600;
  if (!from.next_is(',')) {
    if (!from.time(west)) return std::nullopt;
    out.summer = -west;
  }
  if (!from.take(',') || !from.change(out.begins) || !from.take(',') || !from.change(out.ends) || !from.at_end())
    return std::nullopt;
  return out;
}

Result<TimeZone> TimeZone::parse(std::string_view bytes) {
  ZoneReader from(bytes);
  auto header = read_header(from);
  std::size_t time_size = 4;
  if (header.version >= '2') {
    from.skip(size_of_data(header, 4));
    header = read_header(from);
    time_size = 8;
  }
  std::vector<std::int64_t> times;
  std::vector<std::size_t> kinds;
  std::vector<std::int64_t> offsets;
  if (from.good) {
    for (std::uint64_t i = 0; i < header.times; ++i) times.push_back(from.signed_number(time_size));
    for (std::uint64_t i = 0; i < header.times; ++i) kinds.push_back(static_cast<std::size_t>(from.number(1)));
    for (std::uint64_t i = 0; i < header.types; ++i) {
      offsets.push_back(from.signed_number(4));
      from.skip(2);
    }
    from.skip(
        static_cast<std::size_t>(header.letters + header.leaps * (time_size + 4) + header.standard_flags + header.utc_flags));
  }
  const bool fits = std::all_of(kinds.begin(), kinds.end(), [&](std::size_t kind) { return kind < offsets.size(); });
  if (!from.good || offsets.empty() || !fits) return fail(Category::kInvalid, "malformed time zone information");
  TimeZone out;
  out.first_offset_ = offsets.front();
  for (std::size_t i = 0; i < times.size(); ++i) out.transitions_.push_back({times[i], offsets[kinds[i]]});
  auto rest = from.rest();
  if (time_size == 8 && rest.starts_with('\n')) {
    rest.remove_prefix(1);
    out.rule_ = parse_yearly_rule(rest.substr(0, rest.find('\n')));
  }
  return out;
}

Result<TimeZone> TimeZone::load(std::string_view name) {
  if (name.empty() || name == "UTC") return utc();
  const auto unknown = [&] { return fail(Category::kInvalid, "unknown time zone " + std::string(name)); };
  if (!is_zone_name(name)) return unknown();
  for (const char* folder : kZoneFolders) {
    const auto bytes = kube::read_file(std::string(folder) + std::string(name));
    if (!bytes) continue;
    if (auto zone = parse(*bytes)) return zone;
  }
  return unknown();
}

std::int64_t TimeZone::offset_at(std::int64_t unix_time) const {
  const auto after = std::upper_bound(transitions_.begin(), transitions_.end(), unix_time,
                                      [](std::int64_t at, const Transition& one) { return at < one.at; });
  if (after == transitions_.end() && rule_) return offset_by_rule(*rule_, unix_time);
  return after == transitions_.begin() ? first_offset_ : std::prev(after)->offset;
}

std::int64_t TimeZone::unix_time(std::int64_t local) const {
  const auto guess = offset_at(local);
  const auto there = offset_at(local - guess);
  if (there == guess) return local - guess;
  const auto again = offset_at(local - there);
  return local - (again == there ? there : std::min(guess, there));
}

std::string TimeZone::format(std::int64_t unix_time) const {
  const auto offset = offset_at(unix_time);
  const auto local = unix_time + offset;
  const auto days = floor_div(local, kDay);
  const auto second = local - days * kDay;
  const auto date = civil_from_days(days);
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d", static_cast<int>(date.year), date.month, date.day,
                static_cast<int>(second / 3600), static_cast<int>(second / 60 % 60), static_cast<int>(second % 60));
  std::string out = text.data();
  if (offset == 0) return out + "Z";
  const auto minutes = std::abs(static_cast<int>(offset / 60));
  std::snprintf(text.data(), text.size(), "%c%02d:%02d", offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
  return out + text.data();
}

}  // namespace fleetadm::sandbox::cron
