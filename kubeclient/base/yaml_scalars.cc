#include "kubeclient/base/yaml_scalars.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/shortest.h"

namespace fleetadm::yaml {
namespace {

template <std::size_t N>
bool one_of(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

constexpr std::array<std::string_view, 11> kTrue = {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"};
constexpr std::array<std::string_view, 11> kFalse = {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 5> kNull = {"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 3> kNan = {".nan", ".NaN", ".NAN"};
constexpr std::array<std::string_view, 6> kInf = {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"};
constexpr std::array<std::string_view, 3> kMinusInf = {"-.inf", "-.Inf", "-.INF"};

// An integer in Go's notation: sign, then 0x, 0o, 0b, a leading 0 (octal) or decimal digits. Unsigned only where it must be.
std::optional<Json> integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  const auto prefixed = [&](char lower, char upper) {
    return text.size() > 1 && text[0] == '0' && (text[1] == lower || text[1] == upper);
  };
  if (prefixed('x', 'X')) base = 16;
  if (prefixed('o', 'O')) base = 8;
  if (prefixed('b', 'B')) base = 2;
  if (base != 10) {
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
    text.remove_prefix(1);
  }
  std::uint64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size()) return {};
  constexpr std::uint64_t kLimit = std::numeric_limits<std::int64_t>::max();
  if (negative) {
    if (value > kLimit + 1) return {};
    return Json(static_cast<std::int64_t>(0 - value));
  }
  if (value > kLimit) return Json(value);
  return Json(static_cast<std::int64_t>(value));
}

// [-+]? (.digits | digits[.digits]) ([eE][-+]?digits)?
bool looks_like_float(std::string_view text) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at > from;
  };
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  if (digits()) {
    if (at < text.size() && text[at] == '.') {
      ++at;
      digits();
    }
  } else if (at < text.size() && text[at] == '.') {
    ++at;
    if (!digits()) return false;
  } else {
    return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (!digits()) return false;
  }
  return at == text.size();
}

std::optional<double> real(std::string_view text) {
  if (!looks_like_float(text)) return {};
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec == std::errc::result_out_of_range) {
    // Too small is zero in Go, too large is an error there (and so a string).
    const std::size_t exponent = text.find_first_of("eE");
    if (exponent != std::string_view::npos && text.substr(exponent + 1).starts_with('-')) return 0.0;
    return {};
  }
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return {};
  return value;
}

// A number of one or two digits (exactly `exact` where given), advancing `at`.
std::optional<unsigned> small_number(std::string_view text, std::size_t& at, std::size_t exact = 0) {
  unsigned value = 0;
  std::size_t count = 0;
  while (at < text.size() && is_digit(text[at]) && count < 2) {
    value = value * 10 + static_cast<unsigned>(text[at] - '0');
    ++at;
    ++count;
  }
  if (count == 0 || (exact != 0 && count != exact)) return {};
  return value;
}

bool eat(std::string_view text, std::size_t& at, char c) {
  if (at >= text.size() || text[at] != c) return false;
  ++at;
  return true;
}

bool time_of_day(std::string_view text, std::size_t& at) {
  const auto hour = small_number(text, at);
  if (!hour || *hour > 23 || !eat(text, at, ':')) return false;
  const auto minute = small_number(text, at);
  if (!minute || *minute > 59 || !eat(text, at, ':')) return false;
  const auto second = small_number(text, at);
  if (!second || *second > 59) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    const std::size_t from = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    if (at == from) return false;
  }
  return true;
}

// YYYY-M-D, alone, or with "T" time and zone, or with a space and a time.
bool is_timestamp(std::string_view text) {
  if (text.size() < 8 || !std::all_of(text.begin(), text.begin() + 4, is_digit) || text[4] != '-') return false;
  int year = 0;
  std::from_chars(text.data(), text.data() + 4, year);
  std::size_t at = 5;
  const auto month = small_number(text, at);
  if (!month || !eat(text, at, '-')) return false;
  const auto day = small_number(text, at);
  if (!day) return false;
  if (!std::chrono::year_month_day(std::chrono::year(year), std::chrono::month(*month), std::chrono::day(*day)).ok())
    return false;
  if (at == text.size()) return true;
  if (eat(text, at, ' ')) return time_of_day(text, at) && at == text.size();
  if (!eat(text, at, 'T') && !eat(text, at, 't')) return false;
  if (!time_of_day(text, at)) return false;
  if (eat(text, at, 'Z')) return at == text.size();
  if (!eat(text, at, '+') && !eat(text, at, '-')) return false;
  return small_number(text, at, 2) && eat(text, at, ':') && small_number(text, at, 2) && at == text.size();
}

// 190:20:30 is a number to old YAML readers: never written plain.
bool is_base60(std::string_view text) {
  std::size_t at = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  if (at >= text.size() || !is_digit(text[at])) return false;
  while (at < text.size() && (is_digit(text[at]) || text[at] == '_')) ++at;
  bool parts = false;
  while (eat(text, at, ':')) {
    const std::size_t from = at;
    while (at < text.size() && is_digit(text[at]) && at - from < 2) ++at;
    if (at == from || (at - from == 2 && text[from] > '5')) return false;
    parts = true;
  }
  if (eat(text, at, '.')) {
    while (at < text.size() && (is_digit(text[at]) || text[at] == '_')) ++at;
  }
  return parts && at == text.size();
}

// One step of a key: a run of digits or one byte. Punctuation comes before digits, digits before letters.
struct Token {
  int rank = 0;
  std::string_view text;    // as written
  std::string_view number;  // a run of digits without its leading zeros
};
Token next_token(std::string_view& rest) {
  Token token;
  std::size_t length = 1;
  const auto byte = static_cast<unsigned char>(rest.front());
  if (is_digit(rest.front())) {
    while (length < rest.size() && is_digit(rest[length])) ++length;
    token.rank = 1;
    token.number = rest.substr(0, length);
    while (token.number.starts_with('0')) token.number.remove_prefix(1);
  } else if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte >= 0x80) {
    token.rank = 2;
  }
  token.text = rest.substr(0, length);
  rest.remove_prefix(length);
  return token;
}

}  // namespace

Scalar resolve(std::string_view text) {
  if (one_of(text, kNull)) return {ScalarKind::kNull, nullptr};
  if (one_of(text, kTrue)) return {ScalarKind::kBool, true};
  if (one_of(text, kFalse)) return {ScalarKind::kBool, false};
  if (one_of(text, kNan)) return {ScalarKind::kFloat, std::numeric_limits<double>::quiet_NaN()};
  if (one_of(text, kInf)) return {ScalarKind::kFloat, std::numeric_limits<double>::infinity()};
  if (one_of(text, kMinusInf)) return {ScalarKind::kFloat, -std::numeric_limits<double>::infinity()};
  const char first = text.front();
  if (is_digit(first) || first == '+' || first == '-' || first == '.') {
    if (is_timestamp(text)) return {ScalarKind::kTimestamp, std::string(text)};
    std::string plain(text);
    plain.erase(std::remove(plain.begin(), plain.end(), '_'), plain.end());
    if (auto value = integer(plain)) return {ScalarKind::kInt, std::move(*value)};
    if (const auto value = real(plain)) return {ScalarKind::kFloat, *value};
  }
  return {ScalarKind::kString, std::string(text)};
}

bool plain_is_string(std::string_view text) { return resolve(text).kind == ScalarKind::kString && !is_base60(text); }

std::string format_float(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  const std::string scientific = shortest_scientific(value);
  const std::string plain = plain_decimal(scientific);
  const bool whole = plain.find('.') == std::string::npos;
  if (whole && value < 18446744073709551615.0 && value > -9223372036854775809.0) return plain;
  const int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  return exponent < -4 || exponent >= 6 ? scientific : plain;
}

std::string format_float_key(double value) {
  if (!std::isfinite(value)) return format_float(value);
  const std::string scientific = shortest_scientific(static_cast<float>(value));
  const int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  return exponent < -4 || exponent >= 6 ? scientific : plain_decimal(scientific);
}

bool key_less(std::string_view left, std::string_view right) {
  // Token by token, so that the order is total (kubectl's own is not: k1a < k9 < k10 < k1a).
  while (!left.empty() && !right.empty()) {
    const Token a = next_token(left);
    const Token b = next_token(right);
    if (a.rank != b.rank) return a.rank < b.rank;
    if (a.number.size() != b.number.size()) return a.number.size() < b.number.size();
    if (a.number != b.number) return a.number < b.number;
    if (a.text.size() != b.text.size()) return a.text.size() < b.text.size();
    if (a.text != b.text) return a.text < b.text;
  }
  return left.empty() && !right.empty();
}

}  // namespace fleetadm::yaml
