#include "core/sandbox/cron/schedule.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>
#include <vector>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/civil_time.h"
#include "kubeclient/base/clock.h"

namespace fleetadm::sandbox::cron {
namespace {

constexpr int kYears = 5;  // then a schedule has no next time

constexpr std::array<std::string_view, 12> kMonthNames = {"jan", "feb", "mar", "apr", "may", "jun",
                                                          "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kDayNames = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  while (true) {
    const auto at = text.find(separator);
    out.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  while (true) {
    const auto first = text.find_first_not_of(" \t\n\v\f\r");
    if (first == std::string_view::npos) return out;
    text.remove_prefix(first);
    const auto end = std::min(text.find_first_of(" \t\n\v\f\r"), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

Result<std::int64_t> natural(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    return fail(Category::kInvalid,
                "failed to parse int from " + std::string(text) + ": strconv.Atoi: parsing \"" + std::string(text) +
                    "\": " + (error == std::errc::result_out_of_range ? "value out of range" : "invalid syntax"));
  }
  if (out < 0) {
    return fail(Category::kInvalid, "negative number (" + std::to_string(out) + ") not allowed: " + std::string(text));
  }
  return out;
}

}  // namespace

struct Schedule::Bounds {
  std::int64_t least;
  std::int64_t most;
  std::span<const std::string_view> names;  // of `least` and those after it
};

Result<Schedule::Field> Schedule::parse_range(std::string_view text, const Bounds& bounds) {
  const auto steps = split_at(text, '/');
  const auto ends = split_at(steps.front(), '-');
  const auto value = [&](std::string_view word) -> Result<std::int64_t> {
    const auto at = std::find(bounds.names.begin(), bounds.names.end(), lower_case(word));
    if (at != bounds.names.end()) return bounds.least + (at - bounds.names.begin());
    return natural(word);
  };
  const auto wrong = [&](const std::string& what) { return fail(Category::kInvalid, what + ": " + std::string(text)); };
  Field out;
  auto first = bounds.least;
  auto last = bounds.most;
  if (ends.front() == "*" || ends.front() == "?") {
    out.any = true;
  } else {
    FLEETADM_TRY(first, value(ends.front()));
    last = first;
    if (ends.size() > 2) return wrong("too many hyphens");
    if (ends.size() == 2) {
      FLEETADM_TRY(last, value(ends.back()));
    }
  }
  std::int64_t step = 1;
  if (steps.size() > 2) return wrong("too many slashes");
  if (steps.size() == 2) {
    FLEETADM_TRY(step, natural(steps.back()));
    if (ends.size() == 1) last = bounds.most;  // "5/15": from 5 on
    if (step > 1) out.any = false;
  }
  if (first < bounds.least) {
    return wrong("beginning of range (" + std::to_string(first) + ") below minimum (" + std::to_string(bounds.least) + ")");
  }
  if (last > bounds.most) {
    return wrong("end of range (" + std::to_string(last) + ") above maximum (" + std::to_string(bounds.most) + ")");
  }
  if (first > last) {
    return wrong("beginning of range (" + std::to_string(first) + ") beyond end of range (" + std::to_string(last) + ")");
  }
  if (step == 0) return wrong("step of range should be a positive number");
  for (auto i = first; i <= last; i += std::min(step, bounds.most + 1)) out.bits |= std::uint64_t{1} << i;
  return out;
}

Result<Schedule::Field> Schedule::parse_field(std::string_view text, const Bounds& bounds) {
  Field out;
  for (const auto part : split_at(text, ',')) {
    if (part.empty()) continue;
    FLEETADM_TRY(const Field one, parse_range(part, bounds));
    out.bits |= one.bits;
    out.any = out.any || one.any;
  }
  return out;
}

Result<Schedule> Schedule::parse_word(const std::string& text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kWords = {{{"@yearly", "0 0 1 1 *"},
                                                                                           {"@annually", "0 0 1 1 *"},
                                                                                           {"@monthly", "0 0 1 * *"},
                                                                                           {"@weekly", "0 0 * * 0"},
                                                                                           {"@daily", "0 0 * * *"},
                                                                                           {"@midnight", "0 0 * * *"},
                                                                                           {"@hourly", "0 * * * *"}}};
  for (const auto& [word, fields] : kWords) {
    if (text == word) return parse(fields);
  }
  constexpr std::string_view kEvery = "@every ";
  if (!text.starts_with(kEvery)) return fail(Category::kInvalid, "unrecognized descriptor: " + text);
  const auto length = parse_duration(std::string_view(text).substr(kEvery.size()));
  if (!length) return fail(Category::kInvalid, "failed to parse duration " + text + ": " + length.error().message);
  Schedule out;
  out.every_ = std::max<std::int64_t>(1, std::chrono::duration_cast<std::chrono::seconds>(*length).count());
  return out;
}

Result<Schedule> Schedule::parse(std::string_view text) {
  if (text.empty()) return fail(Category::kInvalid, "empty spec string");
  std::string zone;
  if (text.starts_with("TZ=") || text.starts_with("CRON_TZ=")) {
    const auto space = std::min(text.find(' '), text.size());
    zone = text.substr(0, space).substr(text.find('=') + 1);
    if (const auto known = TimeZone::load(zone); !known)
      return fail(Category::kInvalid, "provided bad location " + zone + ": " + known.error().message);
    text.remove_prefix(space);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  if (text.starts_with('@')) {
    FLEETADM_TRY(Schedule word, parse_word(std::string(text)));
    word.zone_ = zone;
    return word;
  }
  const auto fields = words_of(text);
  if (fields.size() != 5) {
    std::string list;
    for (const auto& one : fields) list += (list.empty() ? "" : " ") + one;
    return fail(Category::kInvalid, "expected exactly 5 fields, found " + std::to_string(fields.size()) + ": [" + list + "]");
  }
  Schedule out;
  out.zone_ = std::move(zone);
  FLEETADM_TRY(out.minute_, parse_field(fields[0], {0, 59, {}}));
  FLEETADM_TRY(out.hour_, parse_field(fields[1], {0, 23, {}}));
  FLEETADM_TRY(out.day_, parse_field(fields[2], {1, 31, {}}));
  FLEETADM_TRY(out.month_, parse_field(fields[3], {1, 12, kMonthNames}));
  FLEETADM_TRY(out.weekday_, parse_field(fields[4], {0, 6, kDayNames}));
  return out;
}

bool Schedule::fits_day(int day, int weekday) const {
  const bool by_month = day_.has(day);
  const bool by_week = weekday_.has(weekday);
  return day_.any || weekday_.any ? by_month && by_week : by_month || by_week;
}

std::optional<std::int64_t> Schedule::next(std::int64_t after, const TimeZone& zone) const {
  if (every_ > 0) return after + every_;
  auto at = std::chrono::floor<std::chrono::minutes>(std::chrono::seconds(after)).count() * 60 + 60;
  const auto last_year = civil_time(at).year + kYears;
  while (true) {
    const auto local = civil_time(at, zone.offset_at(at));
    if (local.year > last_year) return std::nullopt;
    const auto midnight = days_from_civil(local.year, local.month, local.day) * kSecondsPerDay;
    auto to = at;
    if (!month_.has(local.month)) {
      const bool december = local.month == 12;
      to = zone.unix_time(days_from_civil(local.year + (december ? 1 : 0), december ? 1 : local.month + 1, 1) * kSecondsPerDay);
    } else if (!fits_day(local.day, local.day_of_week)) {
      to = zone.unix_time(midnight + kSecondsPerDay);
    } else if (!hour_.has(local.hour)) {
      to = at + 3600 - local.minute * 60 - local.second;
    } else if (!minute_.has(local.minute)) {
      to = at + 60 - local.second;
    } else {
      return at;
    }
    at = to > at ? to : at + 3600;  // clocks that are put back at midnight
  }
}

}  // namespace fleetadm::sandbox::cron
