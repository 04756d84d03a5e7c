#include "kubeclient/base/time_zone.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

#include "kubeclient/base/civil_time.h"

namespace fleetadm {
namespace {

constexpr std::size_t kMaxZoneBytes = 256U << 10U;
constexpr std::size_t kMaxNamePart = 14;
constexpr std::uint64_t kMaxTransitions = 10'000;
constexpr std::uint64_t kMaxOtherParts = 4096;
constexpr std::array kZoneFolders = {"/usr/share/zoneinfo/", "/usr/share/lib/zoneinfo/", "/usr/lib/locale/TZ/", "/etc/zoneinfo/"};

/// Only letters, digits and a few signs in parts that are no dots: no other file can be reached by it.
bool is_zone_name(std::string_view name) {
  while (true) {
    const auto slash = name.find('/');
    const auto part = name.substr(0, slash);
    const bool good = !part.empty() && part.size() <= kMaxNamePart && part != "." && part != ".." && part.front() != '-' &&
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
    for (std::size_t i = 0; i < size; ++i) out = (out << 8U) | static_cast<unsigned char>(rest_[i]);
    rest_.remove_prefix(size);
    return out;
  }
  std::int64_t signed_number(std::size_t size) {
    const auto raw = number(size);
    return size == 4 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(raw)) : static_cast<std::int64_t>(raw);
  }
  void skip(std::uint64_t size) {
    if (rest_.size() < size) good = false;
    rest_.remove_prefix(std::min<std::uint64_t>(size, rest_.size()));
  }
  std::string_view rest() const { return rest_; }
  bool good = true;

 private:
  std::string_view rest_;
};

struct ZoneHeader {
  std::uint64_t version = 0, utc_flags = 0, standard_flags = 0, leaps = 0, times = 0, types = 0, letters = 0;

  /// What stands between the types and the end of the block.
  std::uint64_t tail_size(std::size_t time_size) const { return letters + leaps * (time_size + 4) + standard_flags + utc_flags; }
  std::uint64_t block_size(std::size_t time_size) const { return times * (time_size + 1) + types * 6 + tail_size(time_size); }
};

ZoneHeader read_header(ZoneReader& from) {
  ZoneHeader out;
  if (from.number(4) != 0x545a6966U) from.good = false;  // "TZif"
  out.version = from.number(1);
  from.skip(15);
  for (auto* field : {&out.utc_flags, &out.standard_flags, &out.leaps, &out.times, &out.types, &out.letters}) {
    *field = from.number(4);
    if (*field > (field == &out.times ? kMaxTransitions : kMaxOtherParts)) from.good = false;
  }
  return out;
}

/// At most the bound and a byte of a file; nothing where there is none.
std::string read_zone_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string content(kMaxZoneBytes + 1, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return content;
}

}  // namespace

TimeZone TimeZone::fixed(std::int64_t offset_seconds) {
  TimeZone out;
  out.first_offset_ = offset_seconds;
  return out;
}

Result<TimeZone> TimeZone::parse(std::string_view bytes) {
  const auto malformed = [] { return fail(Category::kInvalid, "malformed time zone information"); };
  ZoneReader from(bytes);
  auto header = read_header(from);
  std::size_t time_size = 4;
  if (header.version >= '2') {
    // The first block is the 32-bit form of the same.
    from.skip(header.block_size(4));
    header = read_header(from);
    time_size = 8;
  }
  if (!from.good) return malformed();
  std::vector<std::int64_t> times(header.times);
  std::vector<std::size_t> types(header.times);
  std::vector<std::int64_t> offsets(header.types);
  std::vector<bool> summer(header.types);
  for (auto& time : times) time = from.signed_number(time_size);
  for (auto& type : types) type = static_cast<std::size_t>(from.number(1));
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] = from.signed_number(4);
    summer[i] = from.number(1) != 0;
    from.skip(1);
  }
  from.skip(header.tail_size(time_size));
  const bool known = std::all_of(types.begin(), types.end(), [&](std::size_t type) { return type < offsets.size(); });
  if (!from.good || offsets.empty() || !known) return malformed();
  // Before the first transition the first standard time holds.
  const auto standard = std::find(summer.begin(), summer.end(), false);
  TimeZone out = fixed(offsets[standard == summer.end() ? 0 : static_cast<std::size_t>(standard - summer.begin())]);
  for (std::size_t i = 0; i < times.size(); ++i) out.transitions_.push_back({times[i], offsets[types[i]]});
  auto rest = from.rest();
  if (time_size == 8 && rest.starts_with('\n')) {
    rest.remove_prefix(1);
    out.rule_ = PosixTz::parse(rest.substr(0, rest.find('\n')));
  }
  return out;
}

Result<TimeZone> TimeZone::load(std::string_view name) {
  if (name.empty() || name == "UTC") return utc();
  if (is_zone_name(name)) {
    for (const char* folder : kZoneFolders) {
      const auto bytes = read_zone_file(std::string(folder).append(name));
      if (bytes.empty() || bytes.size() > kMaxZoneBytes) continue;
      if (auto zone = parse(bytes)) return zone;
    }
  }
  return fail(Category::kInvalid, "unknown time zone " + std::string(name));
}

std::int64_t TimeZone::offset_at(std::int64_t unix_time) const {
  const auto after = std::upper_bound(transitions_.begin(), transitions_.end(), unix_time,
                                      [](std::int64_t at, const Transition& one) { return at < one.at; });
  if (after == transitions_.end() && rule_) return rule_->offset_at(unix_time);
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
  return format_date_time(civil_time(unix_time, offset)) + format_utc_offset(offset / 60);
}

}  // namespace fleetadm
