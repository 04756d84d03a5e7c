#include "kubeclient/base/ip_address.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

namespace fleetadm {
namespace {

tl::unexpected<Error> malformed(std::string_view text, std::string_view why) {
  return fail(Category::kInvalid, "\"" + std::string(text) + "\" is no IP address: " + std::string(why));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

template <class T>
bool read_number(std::string_view text, int base, std::size_t max_digits, T& out) {
  if (text.empty() || text.size() > max_digits) return false;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return end.ec == std::errc() && end.ptr == text.data() + text.size();
}

std::optional<std::array<std::uint8_t, 4>> read_v4(std::string_view text) {
  std::array<std::uint8_t, 4> out{};
  const auto fields = split(text, '.');
  if (fields.size() != 4) return std::nullopt;
  for (std::size_t i = 0; i < 4; ++i) {
    if (fields[i].size() > 1 && fields[i].front() == '0') return std::nullopt;
    if (!read_number(fields[i], 10, 3, out[i])) return std::nullopt;
  }
  return out;
}

// The 16-bit groups of one side of "::" (or of all), an IPv4 address at the very end being two.
bool read_groups(std::string_view text, bool at_end, std::vector<std::uint16_t>& out) {
  if (text.empty()) return true;
  const auto parts = split(text, ':');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (at_end && i + 1 == parts.size() && parts[i].find('.') != std::string_view::npos) {
      const auto v4 = read_v4(parts[i]);
      if (!v4) return false;
      out.push_back(static_cast<std::uint16_t>((*v4)[0] << 8 | (*v4)[1]));
      out.push_back(static_cast<std::uint16_t>((*v4)[2] << 8 | (*v4)[3]));
      continue;
    }
    std::uint16_t group = 0;
    if (!read_number(parts[i], 16, 4, group)) return false;
    out.push_back(group);
  }
  return true;
}

Result<IpAddress> parse_v6(std::string_view text) {
  const std::string_view whole = text;
  IpAddress address;
  address.v6 = true;
  if (const std::size_t percent = text.find('%'); percent != std::string_view::npos) {
    address.zone = text.substr(percent + 1);
    if (address.zone.empty()) return malformed(whole, "its zone is empty");
    text = text.substr(0, percent);
  }
  std::vector<std::uint16_t> head;
  std::vector<std::uint16_t> tail;
  const std::size_t gap = text.find("::");
  if (gap == std::string_view::npos) {
    if (text.empty() || !read_groups(text, true, head) || head.size() != 8) return malformed(whole, "it has not eight groups");
  } else {
    if (text.find("::", gap + 1) != std::string_view::npos) return malformed(whole, "it has more than one ::");
    if (!read_groups(text.substr(0, gap), false, head) || !read_groups(text.substr(gap + 2), true, tail))
      return malformed(whole, "a group is no hexadecimal number of four digits");
    if (head.size() + tail.size() > 7) return malformed(whole, "its :: stands for nothing");
  }
  const auto put = [&](std::size_t index, std::uint16_t group) {
    address.bytes[index * 2] = static_cast<std::uint8_t>(group >> 8);
    address.bytes[index * 2 + 1] = static_cast<std::uint8_t>(group & 0xff);
  };
  for (std::size_t i = 0; i < head.size(); ++i) put(i, head[i]);
  for (std::size_t i = 0; i < tail.size(); ++i) put(8 - tail.size() + i, tail[i]);
  return address;
}

std::string v4_text(const std::uint8_t* bytes) {
  return std::to_string(bytes[0]) + "." + std::to_string(bytes[1]) + "." + std::to_string(bytes[2]) + "." +
         std::to_string(bytes[3]);
}

std::string v6_text(const std::array<std::uint8_t, 16>& bytes) {
  std::array<unsigned, 8> groups{};
  for (std::size_t i = 0; i < 8; ++i) groups[i] = static_cast<unsigned>(bytes[i * 2] << 8 | bytes[i * 2 + 1]);
  std::size_t longest = 1;  // a single zero is written out
  std::size_t start = 8;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t end = i;
    while (end < 8 && groups[end] == 0) ++end;
    if (end - i > longest) {
      longest = end - i;
      start = i;
    }
  }
  std::string out;
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == start) {
      out += "::";
      i += longest - 1;
      continue;
    }
    if (!out.empty() && out.back() != ':') out += ':';
    std::array<char, 4> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), groups[i], 16);
    out.append(digits.data(), end.ptr);
  }
  return out;
}

}  // namespace

Result<IpAddress> IpAddress::parse(std::string_view text) {
  const std::size_t first = text.find_first_of(".:%");
  if (first == std::string_view::npos || text[first] == '%') return malformed(text, "it has neither dots nor colons");
  if (text[first] == ':') return parse_v6(text);
  const auto v4 = read_v4(text);
  if (!v4) return malformed(text, "it has not four numbers up to 255 without leading zeros");
  IpAddress address;
  std::copy(v4->begin(), v4->end(), address.bytes.begin());
  return address;
}

bool IpAddress::is_mapped_v4() const {
  return v6 && bytes[10] == 0xff && bytes[11] == 0xff &&
         std::all_of(bytes.begin(), bytes.begin() + 10, [](std::uint8_t byte) { return byte == 0; });
}

bool IpAddress::is_unspecified() const {
  return zone.empty() && std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

bool IpAddress::is_loopback() const {
  if (!v6) return bytes[0] == 127;
  return bytes[15] == 1 && std::all_of(bytes.begin(), bytes.begin() + 15, [](std::uint8_t byte) { return byte == 0; });
}

bool IpAddress::is_multicast() const { return v6 ? bytes[0] == 0xff : (bytes[0] & 0xf0) == 0xe0; }

bool IpAddress::is_link_local_multicast() const {
  if (!v6) return bytes[0] == 224 && bytes[1] == 0 && bytes[2] == 0;
  return bytes[0] == 0xff && (bytes[1] & 0x0f) == 0x02;
}

bool IpAddress::is_link_local_unicast() const {
  return v6 ? bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80 : bytes[0] == 169 && bytes[1] == 254;
}

bool IpAddress::is_global_unicast() const {
  const bool broadcast = !v6 && std::all_of(bytes.begin(), bytes.begin() + 4, [](std::uint8_t byte) { return byte == 255; });
  return !broadcast && !is_unspecified() && !is_loopback() && !is_multicast() && !is_link_local_unicast();
}

std::string IpAddress::to_string() const {
  if (!v6) return v4_text(bytes.data());
  std::string out = is_mapped_v4() ? "::ffff:" + v4_text(bytes.data() + 12) : v6_text(bytes);
  return zone.empty() ? out : out + "%" + zone;
}

Result<IpPrefix> IpPrefix::parse(std::string_view text) {
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return malformed(text, "it has no /");
  FLEETADM_TRY(IpAddress address, IpAddress::parse(text.substr(0, slash)));
  if (!address.zone.empty()) return malformed(text, "a prefix has no zone");
  const std::string_view digits = text.substr(slash + 1);
  int length = 0;
  if ((digits.size() > 1 && digits.front() == '0') || !read_number(digits, 10, 3, length) || length < 0 ||
      digits.starts_with('-') || length > address.bits()) {
    return malformed(text, "its length is no number within the address");
  }
  return IpPrefix{std::move(address), length};
}

IpPrefix IpPrefix::masked() const {
  IpPrefix out = *this;
  for (int bit = length; bit < 128; ++bit) {
    out.address.bytes[static_cast<std::size_t>(bit / 8)] &= static_cast<std::uint8_t>(~(0x80 >> (bit % 8)));
  }
  return out;
}

bool IpPrefix::contains(const IpAddress& other) const {
  if (address.v6 != other.v6 || !other.zone.empty()) return false;
  return IpPrefix{other, length}.masked().address == masked().address;
}

bool IpPrefix::contains(const IpPrefix& other) const { return length <= other.length && contains(other.address); }

std::string IpPrefix::to_string() const { return address.to_string() + "/" + std::to_string(length); }

}  // namespace fleetadm
