#include "kubeclient/base/go_numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

namespace fleetadm {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

struct ScaleSuffix {
  int base = 10;
  int exponent = 0;
};

std::optional<ScaleSuffix> parse_suffix(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, ScaleSuffix>, 16> kSuffixes{{{"", {10, 0}},
                                                                                       {"n", {10, -9}},
                                                                                       {"u", {10, -6}},
                                                                                       {"m", {10, -3}},
                                                                                       {"k", {10, 3}},
                                                                                       {"M", {10, 6}},
                                                                                       {"G", {10, 9}},
                                                                                       {"T", {10, 12}},
                                                                                       {"P", {10, 15}},
                                                                                       {"E", {10, 18}},
                                                                                       {"Ki", {2, 10}},
                                                                                       {"Mi", {2, 20}},
                                                                                       {"Gi", {2, 30}},
                                                                                       {"Ti", {2, 40}},
                                                                                       {"Pi", {2, 50}},
                                                                                       {"Ei", {2, 60}}}};
  for (const auto& [name, suffix] : kSuffixes) {
    if (name == text) return suffix;
  }
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  std::size_t at = 1;
  const bool negative = text[at] == '-';
  if (text[at] == '-' || text[at] == '+') ++at;
  if (at == text.size()) return std::nullopt;
  int exponent = 0;
  for (; at < text.size(); ++at) {
    if (!digit(text[at])) return std::nullopt;
    exponent = std::min(exponent * 10 + (text[at] - '0'), 100000);  // far beyond what any figure means
  }
  return ScaleSuffix{10, negative ? -exponent : exponent};
}

// 10^n as Go has it: the product of two correctly rounded constants, which is not always the nearest double.
double double_power_of_ten(int n) {
  const auto nearest = [](int e) { return std::strtod(("1e" + std::to_string(e)).c_str(), nullptr); };
  if (n > 308) return std::numeric_limits<double>::infinity();
  return n < 32 ? nearest(n) : nearest(n / 32 * 32) * nearest(n % 32);
}

// An unsigned decimal number: digits × 10^-scale.
struct Decimal {
  std::string digits;
  int scale = 0;

  void strip() {
    const std::size_t first = digits.find_first_not_of('0');
    digits.erase(0, first == std::string::npos ? digits.size() : first);
  }
  void multiply(unsigned factor) {
    unsigned carry = 0;
    for (auto at = digits.rbegin(); at != digits.rend(); ++at) {
      const unsigned product = static_cast<unsigned>(*at - '0') * factor + carry;
      *at = static_cast<char>('0' + product % 10);
      carry = product / 10;
    }
    if (carry != 0) digits.insert(0, std::to_string(carry));
  }
  // To exactly nine decimals, away from zero.
  void round_up_to_nano() {
    if (scale <= 9) {
      digits.append(static_cast<std::size_t>(9 - scale), '0');
    } else {
      const auto drop = static_cast<std::size_t>(scale - 9);
      std::string dropped;
      if (drop >= digits.size()) {
        dropped.swap(digits);
      } else {
        dropped = digits.substr(digits.size() - drop);
        digits.erase(digits.size() - drop);
      }
      if (dropped.find_first_not_of('0') != std::string::npos) increment();
    }
    scale = 9;
    strip();
  }
  void increment() {
    for (auto at = digits.rbegin(); at != digits.rend(); ++at) {
      if (*at != '9') {
        ++*at;
        return;
      }
      *at = '0';
    }
    digits.insert(0, "1");
  }
};

// The largest quantity with a binary suffix: 2^63 - 1, in nano units.
constexpr std::string_view kLargestBinaryNano = "9223372036854775807000000000";

}  // namespace

std::optional<double> quantity_as_double(std::string_view text) {
  std::size_t at = 0;
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    at = 1;
  }
  const std::size_t whole_from = at;
  while (at < text.size() && digit(text[at])) ++at;
  std::string_view whole = text.substr(whole_from, at - whole_from);
  std::string_view fraction;
  if (at < text.size() && text[at] == '.') {
    const std::size_t from = ++at;
    while (at < text.size() && digit(text[at])) ++at;
    fraction = text.substr(from, at - from);
  }
  if (text.empty()) return std::nullopt;  // but a lone sign or suffix is zero, as in Kubernetes
  const std::optional<ScaleSuffix> suffix = parse_suffix(text.substr(at));
  if (!suffix) return std::nullopt;
  while (!whole.empty() && whole.front() == '0') whole.remove_prefix(1);
  const std::size_t whole_digits = std::max<std::size_t>(whole.size(), 1);
  const double sign = negative ? -1.0 : 1.0;
  const bool zero = (whole.empty() || whole.find_first_not_of('0') == std::string_view::npos) &&
                    fraction.find_first_not_of('0') == std::string_view::npos;
  if (zero) return 0.0;

  // Figures that fit an integer of 18 digits keep the power of ten they were written with.
  if (suffix->base == 10 && whole_digits + fraction.size() <= 18) {
    const int scale = suffix->exponent - static_cast<int>(fraction.size());
    if (scale >= -9) {
      const std::string digits = std::string(whole) + std::string(fraction);
      const double base = sign * static_cast<double>(digits.empty() ? 0 : std::strtoll(digits.c_str(), nullptr, 10));
      return scale == 0 ? base : base * double_power_of_ten(std::min(scale, 400));
    }
  }
  // Whole binary figures that surely fit 64 bits are exact.
  const int room = 15 - static_cast<int>(whole_digits) - suffix->exponent * 3 / 10 - 1;
  if (suffix->base == 2 && fraction.empty() && room >= 0) {
    const std::int64_t value = whole.empty() ? 0 : std::strtoll(std::string(whole).c_str(), nullptr, 10);
    return sign * static_cast<double>(value << suffix->exponent);
  }
  Decimal amount{std::string(whole) + std::string(fraction), static_cast<int>(fraction.size())};
  if (suffix->base == 10) {
    amount.scale -= std::min(suffix->exponent, 1000);
  } else {
    for (int i = 0; i < suffix->exponent; i += 10) amount.multiply(1024);
  }
  amount.strip();
  amount.round_up_to_nano();
  const bool capped =
      suffix->base == 2 && (amount.digits.size() > kLargestBinaryNano.size() ||
                            (amount.digits.size() == kLargestBinaryNano.size() && amount.digits > kLargestBinaryNano));
  if (capped) return sign * 9223372036854775807.0;
  return sign * std::strtod(amount.digits.c_str(), nullptr) * double_power_of_ten(-9);
}

std::optional<double> parse_go_float(std::string_view text) {
  std::string plain;
  const std::size_t body = !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  std::string word(text.substr(body));
  std::transform(word.begin(), word.end(), word.begin(), lower);
  if (word == "inf" || word == "infinity") {
    const double infinite = std::numeric_limits<double>::infinity();
    return text[0] == '-' ? -infinite : infinite;
  }
  if (word == "nan") return body == 0 ? std::optional(std::numeric_limits<double>::quiet_NaN()) : std::nullopt;
  const bool hex = word.starts_with("0x");
  const auto mantissa_digit = [&](char c) { return digit(c) || (hex && c >= 'a' && c <= 'f'); };
  bool digits = false;
  bool point = false;
  bool exponent = false;
  char previous = hex ? '0' : ' ';
  for (std::size_t i = hex ? 2 : 0; i < word.size(); ++i) {
    const char c = word[i];
    if (exponent ? digit(c) : mantissa_digit(c)) {
      digits = digits || !exponent;
    } else if (c == '_') {
      // Only between digits, or between a base prefix and a digit.
      const bool next = i + 1 < word.size() && mantissa_digit(word[i + 1]);
      if (!mantissa_digit(previous) || !next) return std::nullopt;
    } else if (c == '.' && !point && !exponent) {
      point = true;
    } else if (!exponent && digits && c == (hex ? 'p' : 'e')) {
      exponent = true;
      std::size_t next = i + 1;
      if (next < word.size() && (word[next] == '+' || word[next] == '-')) ++next;
      if (next >= word.size() || !digit(word[next])) return std::nullopt;
      plain += word.substr(i, next - i);
      i = next - 1;
      previous = ' ';
      continue;
    } else {
      return std::nullopt;
    }
    previous = c;
    if (c != '_') plain += c;
  }
  if (!digits || (hex && !exponent)) return std::nullopt;
  const double value = std::strtod((std::string(text.substr(0, body)) + (hex ? "0x" : "") + plain).c_str(), nullptr);
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

std::int64_t truncate(double value) {
  if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0)) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

}  // namespace fleetadm
