#include "kubeclient/base/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <memory>
#include <openssl/bn.h>
#include <optional>

#include "kubeclient/base/ascii.h"

namespace fleetadm {
namespace {

__extension__ using Wide = __int128;

constexpr Wide kNano = 1'000'000'000;
// Kubernetes caps binary quantities at 2^63-1 and leaves decimal ones endless; ours end at 10^27, which leaves room for sums
// in 128 bits.
constexpr Wide kMaxBinary = Wide(std::numeric_limits<std::int64_t>::max()) * kNano;
constexpr Wide kMax = kNano * kNano * kNano * kNano;

struct Suffix {
  std::string_view text;
  Quantity::Format format;
  int base;  // 10 or 2
  int exponent;
};
using Format = Quantity::Format;
constexpr std::array<Suffix, 16> kSuffixes = {{{"n", Format::kDecimalSI, 10, -9},
                                               {"u", Format::kDecimalSI, 10, -6},
                                               {"m", Format::kDecimalSI, 10, -3},
                                               {"", Format::kDecimalSI, 10, 0},
                                               {"k", Format::kDecimalSI, 10, 3},
                                               {"M", Format::kDecimalSI, 10, 6},
                                               {"G", Format::kDecimalSI, 10, 9},
                                               {"T", Format::kDecimalSI, 10, 12},
                                               {"P", Format::kDecimalSI, 10, 15},
                                               {"E", Format::kDecimalSI, 10, 18},
                                               {"Ki", Format::kBinarySI, 2, 10},
                                               {"Mi", Format::kBinarySI, 2, 20},
                                               {"Gi", Format::kBinarySI, 2, 30},
                                               {"Ti", Format::kBinarySI, 2, 40},
                                               {"Pi", Format::kBinarySI, 2, 50},
                                               {"Ei", Format::kBinarySI, 2, 60}}};

tl::unexpected<Error> malformed(std::string_view text) {
  return fail(Category::kInvalid, "\"" + std::string(text) + "\" is not a quantity",
              "write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3");
}

// value / divisor away from zero: Kubernetes never rounds a request down.
Wide divide_up(Wide value, Wide divisor) {
  const Wide quotient = value / divisor;
  if (value % divisor == 0) return quotient;
  return value > 0 ? quotient + 1 : quotient - 1;
}

std::int64_t saturate(Wide value) {
  constexpr Wide kHigh = std::numeric_limits<std::int64_t>::max();
  constexpr Wide kLow = std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(std::clamp(value, kLow, kHigh));
}

Wide power_of_ten(std::int64_t exponent) {
  Wide value = 1;
  for (std::int64_t i = 0; i < exponent; ++i) value *= 10;
  return value;
}

// digits times 2^binary times 10^shift, rounded up and capped, for up to 20 digits: 10^20 times 2^60 fits 128 bits.
Wide scale_short(std::string_view digits, std::int64_t shift, int binary) {
  Wide value = 0;
  for (const char c : digits) value = value * 10 + (c - '0');
  value <<= binary;
  if (shift < 0) return std::min(shift < -37 ? Wide(1) : divide_up(value, power_of_ten(-shift)), kMax);
  if (shift > 37 || __builtin_mul_overflow(value, power_of_ten(shift), &value)) return kMax;
  return std::min(value, kMax);
}

using Bignum = std::unique_ptr<BIGNUM, decltype(&BN_free)>;

// The same for texts of any length (bounded by the caller).
Wide scale_long(const std::string& digits, std::int64_t shift, int binary) {
  const std::unique_ptr<BN_CTX, decltype(&BN_CTX_free)> context(BN_CTX_new(), BN_CTX_free);
  BIGNUM* raw = nullptr;
  const bool read = BN_dec2bn(&raw, digits.c_str()) != 0;
  const Bignum value(raw, BN_free), factor(BN_new(), BN_free), rest(BN_new(), BN_free), exponent(BN_new(), BN_free);
  if (!context || !read || !factor || !rest || !exponent) return kMax;
  BN_set_word(factor.get(), 10);
  BN_set_word(exponent.get(), static_cast<BN_ULONG>(shift < 0 ? -shift : shift));
  BN_exp(factor.get(), factor.get(), exponent.get(), context.get());
  BN_lshift(value.get(), value.get(), binary);
  if (shift < 0) {
    BN_div(value.get(), rest.get(), value.get(), factor.get(), context.get());
    if (!BN_is_zero(rest.get())) BN_add_word(value.get(), 1);
  } else {
    BN_mul(value.get(), value.get(), factor.get(), context.get());
  }
  if (BN_num_bits(value.get()) > 120) return kMax;
  std::array<unsigned char, 15> bytes{};
  BN_bn2binpad(value.get(), bytes.data(), static_cast<int>(bytes.size()));
  Wide out = 0;
  for (const unsigned char byte : bytes) out = (out << 8) | byte;
  return std::min(out, kMax);
}

// digits times 10^exponent times 2^binary in nano units.
Wide to_nano(std::string digits, std::int64_t exponent, int binary) {
  digits.erase(0, digits.find_first_not_of('0'));
  while (!digits.empty() && digits.back() == '0') {
    digits.pop_back();
    ++exponent;
  }
  if (digits.empty()) return 0;
  const std::int64_t shift = exponent + 9;
  // The far ends need no arithmetic: over 10^37 is the cap, under 10^-20 of a nano unit (2^60 is 10^18) is one.
  const std::int64_t magnitude = static_cast<std::int64_t>(digits.size()) + shift;
  if (magnitude > 37) return kMax;
  if (magnitude < -20) return 1;
  if (digits.size() <= 20) return scale_short(digits, shift, binary);
  return scale_long(digits, shift, binary);
}

std::string wide_text(Wide value) {
  if (value == 0) return "0";
  const bool negative = value < 0;
  std::string out;
  for (Wide rest = negative ? -value : value; rest > 0; rest /= 10) out += static_cast<char>('0' + static_cast<int>(rest % 10));
  if (negative) out += '-';
  std::reverse(out.begin(), out.end());
  return out;
}

std::string decimal_text(Wide nano, bool exponent_form) {
  int exponent = -9;
  while (nano % 1000 == 0 && exponent < 18) {
    nano /= 1000;
    exponent += 3;
  }
  if (exponent_form) return wide_text(nano) + (exponent == 0 ? "" : "e" + std::to_string(exponent));
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.base == 10 && suffix.exponent == exponent) return wide_text(nano) + std::string(suffix.text);
  }
  return wide_text(nano);
}

std::string binary_text(Wide units) {
  int exponent = 0;
  while (units % 1024 == 0 && exponent < 60) {
    units /= 1024;
    exponent += 10;
  }
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.base == 2 && suffix.exponent == exponent) return wide_text(units) + std::string(suffix.text);
  }
  return wide_text(units);
}

struct Scale {
  Format format = Format::kDecimalSI;
  std::int64_t decimal = 0;
  int binary = 0;
};

std::optional<Scale> read_suffix(std::string_view text) {
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.text != text) continue;
    return suffix.base == 2 ? Scale{suffix.format, 0, suffix.exponent} : Scale{suffix.format, suffix.exponent, 0};
  }
  if (text.size() < 2 || (text.front() != 'e' && text.front() != 'E')) return {};
  text.remove_prefix(1);
  const bool plus = text.front() == '+';
  if (plus) text.remove_prefix(1);
  if (plus && text.starts_with('-')) return {};
  Scale scale{Format::kDecimalExponent, 0, 0};
  const auto end = std::from_chars(text.data(), text.data() + text.size(), scale.decimal);
  if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size()) return {};
  scale.decimal = std::clamp<std::int64_t>(scale.decimal, -100'000, 100'000);
  return scale;
}

}  // namespace

Result<Quantity> Quantity::parse(std::string_view text) {
  static constexpr std::size_t kMaxLength = 1024;
  if (text.size() > kMaxLength) return fail(Category::kInvalid, "a quantity of more than 1024 characters");
  std::size_t at = 0;
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) ++at;
  std::string digits;
  std::int64_t fraction = 0;
  while (at < text.size() && is_digit(text[at])) digits += text[at++];
  if (at < text.size() && text[at] == '.') {
    ++at;
    for (; at < text.size() && is_digit(text[at]); ++fraction) digits += text[at++];
  }
  const auto scale = read_suffix(text.substr(at));
  if (digits.empty() || !scale) return malformed(text);
  Quantity quantity;
  quantity.format_ = scale->format;
  quantity.nano_ = to_nano(digits, scale->decimal - fraction, scale->binary);
  if (quantity.format_ == Format::kBinarySI) quantity.nano_ = std::min(quantity.nano_, kMaxBinary);
  // Less than one of a binary unit is written in thousandths and less.
  if (quantity.format_ == Format::kBinarySI && quantity.nano_ > 0 && quantity.nano_ < kNano)
    quantity.format_ = Format::kDecimalSI;
  if (negative) quantity.nano_ = -quantity.nano_;
  return quantity;
}

Quantity Quantity::from_int(std::int64_t units, Format format) {
  Quantity quantity;
  quantity.nano_ = Wide(units) * kNano;
  quantity.format_ = format;
  return quantity;
}

std::int64_t Quantity::value() const { return saturate(divide_up(nano_, kNano)); }
std::int64_t Quantity::milli_value() const { return saturate(divide_up(nano_, kNano / 1000)); }
double Quantity::approximate() const { return static_cast<double>(static_cast<long double>(nano_) / 1e9L); }

Quantity& Quantity::operator+=(const Quantity& other) {
  if (is_zero()) format_ = other.format_;
  nano_ = std::clamp(nano_ + other.nano_, -kMax, kMax);
  return *this;
}

Quantity& Quantity::operator-=(const Quantity& other) {
  if (is_zero()) format_ = other.format_;
  nano_ = std::clamp(nano_ - other.nano_, -kMax, kMax);
  return *this;
}

int Quantity::compare(const Quantity& other) const { return nano_ < other.nano_ ? -1 : nano_ > other.nano_ ? 1 : 0; }

std::string Quantity::to_string() const {
  if (nano_ == 0) return "0";
  const bool small = nano_ > -1024 * kNano && nano_ < 1024 * kNano;
  if (format_ == Format::kBinarySI && !small && nano_ % kNano == 0) return binary_text(nano_ / kNano);
  return decimal_text(nano_, format_ == Format::kDecimalExponent);
}

}  // namespace fleetadm
