#include "core/cel/library/exact_quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "kubeclient/base/ascii.h"

namespace fleetadm::cel {
namespace {

using Format = ExactQuantity::Format;

constexpr std::size_t kMaxLength = 1024;
constexpr int kMaxExponent = 10'000;
constexpr int kNano = -9;
constexpr int kMaxDigits = 18;  // of the short form

struct Suffix {
  std::string_view text;
  int exponent;
};
constexpr std::array<Suffix, 10> kDecimal = {
    {{"n", -9}, {"u", -6}, {"m", -3}, {"", 0}, {"k", 3}, {"M", 6}, {"G", 9}, {"T", 12}, {"P", 15}, {"E", 18}}};
constexpr std::array<Suffix, 6> kBinary = {{{"Ki", 10}, {"Mi", 20}, {"Gi", 30}, {"Ti", 40}, {"Pi", 50}, {"Ei", 60}}};

struct Scale {
  Format format = Format::kDecimalSI;
  int exponent = 0;
};

tl::unexpected<Error> malformed(std::string_view why) { return fail(Category::kInvalid, std::string(why)); }

Result<Scale> read_suffix(std::string_view text) {
  for (const Suffix& suffix : kDecimal) {
    if (suffix.text == text) return Scale{Format::kDecimalSI, suffix.exponent};
  }
  for (const Suffix& suffix : kBinary) {
    if (suffix.text == text) return Scale{Format::kBinarySI, suffix.exponent};
  }
  if (text.size() < 2 || (text.front() != 'e' && text.front() != 'E')) return malformed("unable to parse quantity's suffix");
  text.remove_prefix(1);
  const bool plus = text.starts_with('+');
  if (plus) text.remove_prefix(1);
  long exponent = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (text.empty() || (plus && text.starts_with('-')) || end.ec != std::errc() || end.ptr != text.data() + text.size()) {
    return malformed("unable to parse quantity's suffix");
  }
  if (exponent > kMaxExponent || exponent < -kMaxExponent) return malformed("the quantity's exponent is out of bounds");
  return Scale{Format::kDecimalExponent, static_cast<int>(exponent)};
}

// A quantity's text in its parts: sign and digits as written, the digits before the point without leading zeros, those after it.
struct Parts {
  bool negative = false;
  std::string_view value;
  std::string whole;
  std::string fraction;
  std::string_view suffix;
};

Parts split(std::string_view text) {
  Parts parts;
  std::size_t at = 0;
  parts.negative = text.starts_with('-');
  if (parts.negative || text.starts_with('+')) ++at;
  while (at < text.size() && text[at] == '0') ++at;
  while (at < text.size() && is_digit(text[at])) parts.whole += text[at++];
  if (parts.whole.empty()) parts.whole = "0";
  if (at < text.size() && text[at] == '.') {
    ++at;
    while (at < text.size() && is_digit(text[at])) parts.fraction += text[at++];
  }
  parts.value = text.substr(0, at);
  parts.suffix = text.substr(at);
  return parts;
}

// What tells the short form from the long one: how many digits are to spare.
int digits_to_spare(const Parts& parts, const Scale& scale) {
  const int whole = static_cast<int>(parts.whole.size());
  const int fraction = static_cast<int>(parts.fraction.size());
  if (scale.format != Format::kBinarySI) return kMaxDigits - whole - fraction;
  return fraction == 0 ? 15 - whole - scale.exponent * 3 / 10 - 1 : -1;
}

bool scaled(std::int64_t value, int exponent, std::int64_t& out) {
  out = value;
  if (value == 0) return true;
  for (int i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(out, std::int64_t{10}, &out)) return false;
  }
  return true;
}

// 10^exponent as Go's math.Pow10 has it: the product of two table entries.
double power_of_ten(int exponent) {
  if (exponent < -323) return 0;
  if (exponent > 308) return std::numeric_limits<double>::infinity();
  const auto literal = [](int e) { return std::strtod(("1e" + std::to_string(e)).c_str(), nullptr); };
  if (exponent >= 0) return literal(exponent / 32 * 32) * literal(exponent % 32);
  return literal(-(-exponent / 32 * 32)) / literal(-exponent % 32);
}

template <std::size_t n>
std::string_view suffix_for(const std::array<Suffix, n>& suffixes, int exponent) {
  for (const Suffix& suffix : suffixes) {
    if (suffix.exponent == exponent) return suffix.text;
  }
  return {};
}

}  // namespace

Result<ExactQuantity> ExactQuantity::parse(std::string_view text) {
  if (text.empty()) return malformed("a quantity must not be empty");
  if (text.size() > kMaxLength) return malformed("a quantity of more than 1024 characters");
  const Parts parts = split(text);
  FLEETADM_TRY(const Scale scale, read_suffix(parts.suffix));

  ExactQuantity quantity;
  quantity.format_ = scale.format;
  const bool binary = scale.format == Format::kBinarySI;
  const int exponent = (binary ? 0 : scale.exponent) - static_cast<int>(parts.fraction.size());
  if (digits_to_spare(parts, scale) >= 0 && exponent >= kNano) {
    const std::string digits = parts.whole + parts.fraction;
    std::int64_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const std::int64_t unit = binary ? std::int64_t{1} << scale.exponent : 1;
    std::int64_t value = 0;
    if (!__builtin_mul_overflow(number, unit, &value)) {
      quantity.value_ = parts.negative ? -value : value;
      quantity.exponent_ = exponent;
      const bool kept = binary ? scale.exponent % 10 == 0 && (number & 7) != 0
                               : exponent % 3 == 0 && !digits.ends_with("000") && digits.front() != '0';
      if (kept) quantity.written_ = text;
      return quantity;
    }
  }
  Decimal amount;
  if (!Decimal::parse(parts.value, amount)) return malformed("unable to parse numeric part of quantity");
  if (binary) {
    amount.multiply(Decimal::power_of_two(scale.exponent));
  } else {
    amount.set_scale(amount.scale() - scale.exponent);
  }
  const bool negative = amount.sign() < 0;
  if (negative) amount.negate();
  if (amount.sign() != 0) amount.round_up(-kNano);
  static constexpr std::int64_t kMaxBinary = std::numeric_limits<std::int64_t>::max();
  if (binary && amount.compare(Decimal(kMaxBinary, 0)) > 0) amount = Decimal(kMaxBinary, 0);
  if (binary && amount.sign() > 0 && amount.compare(Decimal(1, 0)) < 0) quantity.format_ = Format::kDecimalSI;
  if (negative) amount.negate();
  quantity.long_ = std::move(amount);
  return quantity;
}

ExactQuantity ExactQuantity::from_int(std::int64_t value, Format format) {
  ExactQuantity quantity;
  quantity.value_ = value;
  quantity.format_ = format;
  return quantity;
}

Decimal ExactQuantity::decimal() const { return long_ ? *long_ : Decimal(value_, -exponent_); }

int ExactQuantity::sign() const { return long_ ? long_->sign() : (value_ > 0) - (value_ < 0); }

int ExactQuantity::compare(const ExactQuantity& other) const {
  if (!long_ && !other.long_ && exponent_ == other.exponent_) return (value_ > other.value_) - (value_ < other.value_);
  if (sign() != other.sign()) return sign() < other.sign() ? -1 : 1;
  return decimal().compare(other.decimal());
}

bool ExactQuantity::add_short(std::int64_t value, int exponent) {
  if (value == 0) return true;
  if (value_ == 0) {
    value_ = value;
    exponent_ = exponent;
    return true;
  }
  std::int64_t left = value_;
  std::int64_t right = value;
  const bool fits =
      exponent_ >= exponent ? scaled(value_, exponent_ - exponent, left) : scaled(value, exponent - exponent_, right);
  std::int64_t sum = 0;
  if (!fits || __builtin_add_overflow(left, right, &sum)) return false;
  value_ = sum;
  exponent_ = std::min(exponent_, exponent);
  return true;
}

void ExactQuantity::add(const ExactQuantity& other) {
  written_.clear();
  if (sign() == 0) format_ = other.format_;
  if (!long_ && !other.long_ && add_short(other.value_, other.exponent_)) return;
  long_ = decimal();
  long_->add(other.decimal());
}

void ExactQuantity::subtract(const ExactQuantity& other) {
  written_.clear();
  if (sign() == 0) format_ = other.format_;
  const bool can_negate = other.value_ != std::numeric_limits<std::int64_t>::min();
  if (!long_ && !other.long_ && can_negate && add_short(-other.value_, other.exponent_)) return;
  long_ = decimal();
  long_->subtract(other.decimal());
}

std::optional<std::int64_t> ExactQuantity::as_int() const {
  if (long_ || exponent_ < 0) return std::nullopt;
  std::int64_t out = 0;
  if (!scaled(value_, exponent_, out)) return std::nullopt;
  return out;
}

double ExactQuantity::approximate() const {
  const double base = long_ ? long_->unscaled_as_double() : static_cast<double>(value_);
  const int exponent = long_ ? -long_->scale() : exponent_;
  return exponent == 0 ? base : base * power_of_ten(exponent);
}

std::string ExactQuantity::text() const { return written_.empty() ? canonical() : written_; }

std::string ExactQuantity::canonical() const {
  if (sign() == 0) return "0";
  Decimal amount = decimal();
  if (format_ == Format::kBinarySI && (amount.compare(Decimal(-1024, 0)) <= 0 || amount.compare(Decimal(1024, 0)) >= 0)) {
    Decimal whole = amount;
    if (whole.round_up(0)) {
      const int times = whole.remove_factors(1024);
      return whole.digits() + std::string(suffix_for(kBinary, times * 10));
    }
  }
  int exponent = amount.remove_factors(10) - amount.scale();
  std::string digits = amount.digits();
  for (; exponent % 3 != 0; --exponent) digits += '0';
  if (format_ != Format::kDecimalExponent) return digits + std::string(suffix_for(kDecimal, exponent));
  return exponent == 0 ? digits : digits + "e" + std::to_string(exponent);
}

}  // namespace fleetadm::cel
