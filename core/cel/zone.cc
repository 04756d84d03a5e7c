// Time zones from the system's database (RFC 8536 files). Only the transitions and the rule for the time after them are kept.
#include <algorithm>
#include <fstream>
#include <limits>

#include "core/cel/convert.h"
#include "core/cel/time.h"

namespace fleetadm::cel {

namespace {

constexpr std::size_t kMaxZoneBytes = 256 * 1024;

/// Big-endian reads with bounds: short files yield none.
class Reader {
 public:
  explicit Reader(std::string_view data) : data_(data) {}

  std::optional<std::int64_t> integer(std::size_t bytes) {
    if (data_.size() - at_ < bytes) return std::nullopt;
    std::uint64_t value = (static_cast<unsigned char>(data_[at_]) & 0x80U) != 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = 0; i < bytes; ++i) value = (value << 8U) | static_cast<unsigned char>(data_[at_ + i]);
    at_ += bytes;
    return static_cast<std::int64_t>(value);
  }
  bool skip(std::size_t bytes) {
    if (data_.size() - at_ < bytes) return false;
    at_ += bytes;
    return true;
  }
  std::string_view rest() const { return data_.substr(at_); }

 private:
  std::string_view data_;
  std::size_t at_ = 0;
};

struct Header {
  char version = 0;
  std::size_t is_ut = 0;
  std::size_t is_std = 0;
  std::size_t leaps = 0;
  std::size_t transitions = 0;
  std::size_t types = 0;
  std::size_t characters = 0;
};

std::optional<Header> read_header(Reader& reader) {
  if (!reader.rest().starts_with("TZif") || reader.rest().size() < 44) return std::nullopt;
  Header header;
  header.version = reader.rest()[4];
  if (!reader.skip(20)) return std::nullopt;
  for (std::size_t* count :
       {&header.is_ut, &header.is_std, &header.leaps, &header.transitions, &header.types, &header.characters}) {
    const auto value = reader.integer(4);
    if (!value || *value < 0 || *value > 100'000) return std::nullopt;
    *count = static_cast<std::size_t>(*value);
  }
  return header;
}

/// A rule of POSIX's TZ text: "EST5EDT,M3.2.0,M11.1.0". Only the form the database uses (Mm.w.d, Jn, n).
class PosixRule {
 public:
  explicit PosixRule(std::string_view text) : rest_(text) {}

  std::optional<std::int64_t> offset_at(std::int64_t seconds) {
    const auto standard = name() ? offset() : std::nullopt;
    if (!standard) return std::nullopt;
    if (rest_.empty()) return -*standard;
    if (!name()) return std::nullopt;
    std::int64_t summer = *standard - 3600;
    if (!rest_.empty() && rest_.front() != ',') {
      const auto given = offset();
      if (!given) return std::nullopt;
      summer = *given;
    }
    const std::int64_t year = civil_time(seconds, -*standard).year;
    const auto from = change(year);
    const auto to = change(year);
    if (!from || !to) return std::nullopt;
    // Both changes are in local time of what held before them.
    const std::int64_t begin = *from + *standard;
    const std::int64_t end = *to + summer;
    const bool in_summer = begin < end ? seconds >= begin && seconds < end : !(seconds >= end && seconds < begin);
    return -(in_summer ? summer : *standard);
  }

 private:
  bool name() {
    std::size_t length = 0;
    if (rest_.starts_with("<")) {
      length = rest_.find('>');
      if (length == std::string_view::npos) return false;
      ++length;
    } else {
      while (length < rest_.size() && ((rest_[length] | 0x20) >= 'a' && (rest_[length] | 0x20) <= 'z')) ++length;
    }
    if (length < 3) return false;
    rest_.remove_prefix(length);
    return true;
  }
  std::optional<std::int64_t> number() {
    std::size_t digits = 0;
    std::int64_t value = 0;
    while (digits < rest_.size() && digits < 4 && rest_[digits] >= '0' && rest_[digits] <= '9')
      value = value * 10 + (rest_[digits++] - '0');
    if (digits == 0) return std::nullopt;
    rest_.remove_prefix(digits);
    return value;
  }
  bool literal(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// [+-]hh[:mm[:ss]] in seconds.
  std::optional<std::int64_t> offset() {
    const bool negative = !rest_.empty() && rest_.front() == '-';
    if (negative || (!rest_.empty() && rest_.front() == '+')) rest_.remove_prefix(1);
    const auto hours = number();
    if (!hours) return std::nullopt;
    std::int64_t value = *hours * 3600;
    for (const std::int64_t unit : {60, 1}) {
      if (!literal(':')) break;
      const auto part = number();
      if (!part) return std::nullopt;
      value += *part * unit;
    }
    return negative ? -value : value;
  }
  /// ",M3.2.0/2" of a year, in seconds of local time.
  std::optional<std::int64_t> change(std::int64_t year) {
    if (!literal(',')) return std::nullopt;
    std::int64_t day = 0;
    if (literal('M')) {
      const auto month = number();
      if (!month || *month < 1 || *month > 12 || !literal('.')) return std::nullopt;
      const auto week = number();
      if (!week || *week < 1 || *week > 5 || !literal('.')) return std::nullopt;
      const auto weekday = number();
      if (!weekday || *weekday > 6) return std::nullopt;
      const int m = static_cast<int>(*month);
      const std::int64_t first = days_from_civil(year, m, 1);
      const std::int64_t next = m == 12 ? days_from_civil(year + 1, 1, 1) : days_from_civil(year, m + 1, 1);
      const std::int64_t first_weekday = ((first + 4) % 7 + 7) % 7;
      day = first + (*weekday - first_weekday + 7) % 7 + (*week - 1) * 7;
      if (day >= next) day -= 7;
    } else {
      const bool julian = literal('J');
      const auto index = number();
      if (!index) return std::nullopt;
      const std::int64_t first = days_from_civil(year, 1, 1);
      const bool leap = days_from_civil(year, 3, 1) - first == 60;
      day = first + *index - (julian ? 1 : 0) + (julian && leap && *index >= 60 ? 1 : 0);
    }
    std::int64_t time = 7200;
    if (literal('/')) {
      const auto given = offset();
      if (!given) return std::nullopt;
      time = *given;
    }
    return day * 86400 + time;
  }

  std::string_view rest_;
};

std::optional<std::string> read_zone_file(std::string_view name) {
  for (const char* folder : {"/usr/share/zoneinfo/", "/usr/share/lib/zoneinfo/", "/usr/lib/locale/TZ/", "/etc/zoneinfo/"}) {
    std::ifstream file(std::string(folder).append(name), std::ios::binary);
    std::string content(kMaxZoneBytes, '\0');
    file.read(content.data(), static_cast<std::streamsize>(content.size()));
    if (file.gcount() <= 0) continue;
    content.resize(static_cast<std::size_t>(file.gcount()));
    return content;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Zone> Zone::parse(std::string_view file) {
  Reader reader(file);
  auto header = read_header(reader);
  if (!header) return std::nullopt;
  std::size_t width = 4;
  if (header->version >= '2') {
    // The first block is the 32-bit form of the same.
    const std::size_t block =
        header->transitions * 5 + header->types * 6 + header->characters + header->leaps * 8 + header->is_std + header->is_ut;
    if (!reader.skip(block)) return std::nullopt;
    header = read_header(reader);
    if (!header) return std::nullopt;
    width = 8;
  }
  std::vector<std::int64_t> times(header->transitions);
  for (auto& time : times) {
    const auto value = reader.integer(width);
    if (!value) return std::nullopt;
    time = *value;
  }
  std::vector<std::size_t> kinds(header->transitions);
  for (auto& kind : kinds) {
    const auto value = reader.integer(1);
    if (!value || *value < 0 || static_cast<std::size_t>(*value) >= header->types) return std::nullopt;
    kind = static_cast<std::size_t>(*value);
  }
  std::vector<std::int64_t> offsets(header->types);
  std::vector<bool> summer(header->types);
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const auto offset = reader.integer(4);
    const auto is_summer = reader.integer(1);
    if (!offset || !is_summer || !reader.skip(1)) return std::nullopt;
    offsets[i] = *offset;
    summer[i] = *is_summer != 0;
  }
  if (offsets.empty()) return std::nullopt;
  Zone zone;
  const auto standard = std::find(summer.begin(), summer.end(), false);
  zone.first_ = offsets[standard == summer.end() ? 0 : static_cast<std::size_t>(standard - summer.begin())];
  for (std::size_t i = 0; i < times.size(); ++i) zone.transitions_.push_back({times[i], offsets[kinds[i]]});
  if (!reader.skip(header->characters + header->leaps * (width + 4) + header->is_std + header->is_ut)) return std::nullopt;
  std::string_view rule = reader.rest();
  if (width == 8 && rule.starts_with('\n')) {
    rule.remove_prefix(1);
    zone.rule_ = std::string(rule.substr(0, rule.find('\n')));
  }
  return zone;
}

std::optional<Zone> Zone::load(std::string_view name) {
  const std::size_t colon = name.find(':');
  if (colon != std::string_view::npos) {
    const auto hours = parse_int(name.substr(0, colon));
    const auto minutes = parse_int(name.substr(colon + 1));
    constexpr std::int64_t kLimit = 1'000'000;
    if (!hours || !minutes || *hours > kLimit || *hours < -kLimit || *minutes > kLimit || *minutes < -kLimit) return std::nullopt;
    Zone zone;
    zone.first_ = (*hours * 60 + (name.front() == '-' ? -*minutes : *minutes)) * 60;
    return zone;
  }
  if (name.empty() || name == "UTC" || name == "Local") return Zone();
  if (name.find("..") != std::string_view::npos || name.front() == '/' || name.find('\\') != std::string_view::npos ||
      name.find('\0') != std::string_view::npos || name.size() > 128) {
    return std::nullopt;
  }
  const auto file = read_zone_file(name);
  return file ? parse(*file) : std::nullopt;
}

std::int64_t Zone::offset_at(std::int64_t seconds) const {
  const auto after = std::upper_bound(transitions_.begin(), transitions_.end(), seconds,
                                      [](std::int64_t at, const Transition& transition) { return at < transition.at; });
  if (after == transitions_.end() && !rule_.empty()) {
    if (const auto offset = PosixRule(rule_).offset_at(seconds)) return *offset;
  }
  return after == transitions_.begin() ? first_ : std::prev(after)->offset;
}

}  // namespace fleetadm::cel
