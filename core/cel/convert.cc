#include "core/cel/convert.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/shortest.h"

namespace fleetadm::cel {

namespace {

bool same_word(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() && std::equal(text.begin(), text.end(), lower.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
         });
}

/// Underscores only between digits, or between "0x" and a digit. Removes them.
std::optional<std::string> without_underscores(std::string_view text, bool hex) {
  if (text.find('_') == std::string_view::npos) return std::string(text);
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      result += text[i];
      continue;
    }
    const auto digit = [&](char c) { return hex ? is_hex(c) : is_digit(c); };
    const bool before = i > 0 && (digit(text[i - 1]) || (hex && i == 2));
    if (!before || i + 1 == text.size() || !digit(text[i + 1])) return std::nullopt;
  }
  return result;
}

/// Checks the syntax that std::from_chars is more lenient or stricter about: digits, one point, an exponent with digits.
bool is_number(std::string_view text, bool hex) {
  std::size_t i = 0;
  bool digits = false;
  bool point = false;
  for (; i < text.size(); ++i) {
    if (hex ? is_hex(text[i]) : is_digit(text[i])) {
      digits = true;
    } else if (text[i] == '.' && !point) {
      point = true;
    } else {
      break;
    }
  }
  if (!digits) return false;
  if (i == text.size()) return !hex;  // a hexadecimal number needs its exponent
  const char mark = static_cast<char>(text[i] | 0x20);
  if (mark != (hex ? 'p' : 'e')) return false;
  ++i;
  if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
  return i < text.size() && std::all_of(text.begin() + static_cast<std::ptrdiff_t>(i), text.end(), is_digit);
}

}  // namespace

std::string format_double(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::string scientific = shortest_scientific(value);
  int exponent = 0;
  const std::size_t mark = scientific.find('e');
  const char* from = scientific.data() + mark + (scientific[mark + 1] == '+' ? 2 : 1);
  std::from_chars(from, scientific.data() + scientific.size(), exponent);
  return exponent < -4 || exponent >= 6 ? scientific : format_fixed(value);
}

std::string format_fixed(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  // The shortest digits, then zeros, as Go writes them; the library's own fixed form has all digits of large numbers.
  return plain_decimal(shortest_scientific(value));
}

std::optional<double> parse_double(std::string_view text) {
  std::string_view rest = text;
  bool negative = false;
  bool sign = false;
  if (!rest.empty() && (rest.front() == '+' || rest.front() == '-')) {
    negative = rest.front() == '-';
    sign = true;
    rest.remove_prefix(1);
  }
  if (same_word(rest, "inf") || same_word(rest, "infinity")) {
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  if (same_word(rest, "nan")) {
    if (sign) return std::nullopt;
    return std::numeric_limits<double>::quiet_NaN();
  }
  const bool hex = rest.size() > 2 && rest[0] == '0' && (rest[1] == 'x' || rest[1] == 'X');
  const auto plain = without_underscores(rest, hex);
  if (!plain) return std::nullopt;
  const std::string_view digits = hex ? std::string_view(*plain).substr(2) : std::string_view(*plain);
  if (!is_number(digits, hex)) return std::nullopt;
  double value = 0;
  const char* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, value, hex ? std::chars_format::hex : std::chars_format::general);
  if (read.ec == std::errc::result_out_of_range) {
    // from_chars does not say which way it went: what is tiny is zero, what is huge is no number.
    value = std::strtod((hex ? "0x" + std::string(digits) : std::string(digits)).c_str(), nullptr);
    if (!std::isfinite(value)) return std::nullopt;
  } else if (read.ec != std::errc() || read.ptr != end) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

std::optional<std::int64_t> parse_int(std::string_view text) {
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return std::nullopt;
  }
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_uint(std::string_view text) {
  std::uint64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<bool> parse_bool(std::string_view text) {
  for (const std::string_view word : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (text == word) return true;
  }
  for (const std::string_view word : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (text == word) return false;
  }
  return std::nullopt;
}

bool is_valid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const std::size_t length =
        lead >= 0xC2 && lead < 0xE0 ? 2 : (lead >= 0xE0 && lead < 0xF0 ? 3 : (lead >= 0xF0 && lead < 0xF5 ? 4 : 0));
    if (length == 0 || i + length > text.size()) return false;
    std::uint32_t point = lead & (0xFFU >> (length + 1));
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xC0U) != 0x80U) return false;
      point = (point << 6U) | (next & 0x3FU);
    }
    if ((length == 3 && (point < 0x800 || (point >= 0xD800 && point <= 0xDFFF))) ||
        (length == 4 && (point < 0x10000 || point > 0x10FFFF))) {
      return false;
    }
    i += length;
  }
  return true;
}

}  // namespace fleetadm::cel
