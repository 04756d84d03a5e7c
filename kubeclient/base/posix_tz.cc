#include "kubeclient/base/posix_tz.h"

#include <chrono>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/civil_time.h"

namespace fleetadm {

std::int64_t PosixTz::Change::local_seconds(std::int64_t year) const {
  using std::chrono::sys_days;
  const std::chrono::year in(static_cast<int>(year));
  std::int64_t days = 0;
  if (day == Day::kOfWeek) {
    const auto of_month = in / std::chrono::month(static_cast<unsigned>(month));
    const std::chrono::weekday name(static_cast<unsigned>(weekday));
    const sys_days date =
        week == 5 ? sys_days(of_month / name[std::chrono::last]) : sys_days(of_month / name[static_cast<unsigned>(week)]);
    days = date.time_since_epoch().count();
  } else {
    days = sys_days(in / std::chrono::January / 1).time_since_epoch().count() + number;
    if (day == Day::kWithoutLeap) days += in.is_leap() && number >= 60 ? 0 : -1;
  }
  return days * kSecondsPerDay + at;
}

/// Reads such a text from its beginning.
class PosixTz::Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  bool next_is(char c) const { return rest_.starts_with(c); }
  bool take(char c) {
    if (!next_is(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// The abbreviation of a zone, which is not used.
  bool name() {
    std::size_t length = 0;
    if (next_is('<')) {
      length = rest_.find('>');
      if (length == std::string_view::npos) return false;
      ++length;
    } else {
      while (length < rest_.size() && (rest_[length] | 0x20) >= 'a' && (rest_[length] | 0x20) <= 'z') ++length;
    }
    rest_.remove_prefix(length);
    return length >= 3;
  }
  bool number(int& out) {
    out = 0;
    std::size_t digits = 0;
    while (digits < rest_.size() && digits < 4 && is_digit(rest_[digits])) out = out * 10 + (rest_[digits++] - '0');
    rest_.remove_prefix(digits);
    return digits > 0;
  }
  /// [+-]hh[:mm[:ss]] in seconds.
  bool time(std::int64_t& out) {
    const bool negative = next_is('-');
    if (negative || next_is('+')) rest_.remove_prefix(1);
    int part = 0;
    if (!number(part)) return false;
    out = std::int64_t{part} * 3600;
    for (const int unit : {60, 1}) {
      if (!take(':')) break;
      if (!number(part)) return false;
      out += std::int64_t{part} * unit;
    }
    if (negative) out = -out;
    return true;
  }
  /// ",M3.5.0/2".
  bool change(Change& out) {
    if (!take(',')) return false;
    if (take('M')) {
      if (!number(out.month) || !take('.') || !number(out.week) || !take('.') || !number(out.weekday)) return false;
      if (out.month < 1 || out.month > 12 || out.week < 1 || out.week > 5 || out.weekday > 6) return false;
    } else {
      out.day = take('J') ? Change::Day::kWithoutLeap : Change::Day::kOfYear;
      if (!number(out.number)) return false;
    }
    return !take('/') || time(out.at);
  }

 private:
  std::string_view rest_;
};

std::optional<PosixTz> PosixTz::parse(std::string_view text) {
  Reader from(text);
  PosixTz out;
  std::int64_t west = 0;
  if (!from.name() || !from.time(west)) return std::nullopt;
  out.standard_ = -west;
  if (from.at_end()) return out;
  if (!from.name()) return std::nullopt;
  out.has_summer_ = true;
  out.summer_ = out.standard_ + 3600;
  if (!from.next_is(',')) {
    if (!from.time(west)) return std::nullopt;
    out.summer_ = -west;
  }
  if (!from.change(out.begins_) || !from.change(out.ends_) || !from.at_end()) return std::nullopt;
  return out;
}

std::int64_t PosixTz::offset_at(std::int64_t seconds) const {
  if (!has_summer_) return standard_;
  const auto year = civil_time(seconds, standard_).year;
  const auto begins = begins_.local_seconds(year) - standard_;
  const auto ends = ends_.local_seconds(year) - summer_;
  const bool summer = begins < ends ? seconds >= begins && seconds < ends : seconds >= begins || seconds < ends;
  return summer ? summer_ : standard_;
}

}  // namespace fleetadm
