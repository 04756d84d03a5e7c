#include "core/cel/library/decimal.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <openssl/bn.h>

namespace fleetadm::cel {
namespace {

using Context = std::unique_ptr<BN_CTX, decltype(&BN_CTX_free)>;

// OpenSSL's integers fail for want of memory only.
void need(bool done) {
  if (!done) throw std::bad_alloc();
}

Context context() {
  Context made(BN_CTX_new(), BN_CTX_free);
  need(made != nullptr);
  return made;
}

}  // namespace

void Decimal::Free::operator()(bignum_st* number) const { BN_free(number); }

void Decimal::set(Number number) { number_ = std::shared_ptr<bignum_st>(std::move(number)); }

Decimal::Decimal() : Decimal(0, 0) {}

Decimal::Decimal(std::int64_t unscaled, int scale) : scale_(scale) {
  Number number(BN_new());
  const std::uint64_t magnitude = unscaled < 0 ? ~static_cast<std::uint64_t>(unscaled) + 1 : static_cast<std::uint64_t>(unscaled);
  need(number && BN_set_word(number.get(), magnitude) == 1);
  BN_set_negative(number.get(), unscaled < 0 ? 1 : 0);
  set(std::move(number));
}

bool Decimal::parse(std::string_view text, Decimal& out) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::string digits;
  int scale = 0;
  bool point = false;
  for (const char c : text) {
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9') return false;
    digits += c;
    scale += point ? 1 : 0;
  }
  if (digits.empty()) return false;
  BIGNUM* raw = nullptr;
  need(BN_dec2bn(&raw, digits.c_str()) != 0);
  Number number(raw);
  BN_set_negative(number.get(), negative ? 1 : 0);
  out.set(std::move(number));
  out.scale_ = scale;
  return true;
}

Decimal Decimal::power_of_two(int exponent) {
  Number number(BN_new());
  need(number && BN_set_bit(number.get(), exponent) == 1);
  Decimal out;
  out.set(std::move(number));
  return out;
}

Decimal::Number Decimal::power_of_ten(int exponent) {
  Number ten(BN_new());
  Number power(BN_new());
  Number out(BN_new());
  need(ten && power && out && BN_set_word(ten.get(), 10) == 1 && BN_set_word(power.get(), static_cast<BN_ULONG>(exponent)) == 1 &&
       BN_exp(out.get(), ten.get(), power.get(), context().get()) == 1);
  return out;
}

Decimal::Number Decimal::at_scale(int scale) const {
  Number out(BN_dup(number_.get()));
  need(out != nullptr);
  if (scale > scale_) need(BN_mul(out.get(), out.get(), power_of_ten(scale - scale_).get(), context().get()) == 1);
  return out;
}

int Decimal::sign() const { return BN_is_zero(number_.get()) ? 0 : BN_is_negative(number_.get()) ? -1 : 1; }

void Decimal::negate() {
  Number number(BN_dup(number_.get()));
  need(number != nullptr);
  BN_set_negative(number.get(), BN_is_negative(number.get()) ? 0 : 1);
  set(std::move(number));
}

void Decimal::multiply(const Decimal& other) {
  Number out(BN_new());
  need(out && BN_mul(out.get(), number_.get(), other.number_.get(), context().get()) == 1);
  scale_ += other.scale_;
  set(std::move(out));
}

void Decimal::add(const Decimal& other) {
  const int scale = std::max(scale_, other.scale_);
  Number left = at_scale(scale);
  need(BN_add(left.get(), left.get(), other.at_scale(scale).get()) == 1);
  scale_ = scale;
  set(std::move(left));
}

void Decimal::subtract(const Decimal& other) {
  Decimal negative = other;
  negative.negate();
  add(negative);
}

int Decimal::compare(const Decimal& other) const {
  const int scale = std::max(scale_, other.scale_);
  return BN_cmp(at_scale(scale).get(), other.at_scale(scale).get());
}

bool Decimal::round_up(int scale) {
  if (scale >= scale_) {
    set(at_scale(scale));
    scale_ = scale;
    return true;
  }
  Number quotient(BN_new());
  Number rest(BN_new());
  need(quotient && rest &&
       BN_div(quotient.get(), rest.get(), number_.get(), power_of_ten(scale_ - scale).get(), context().get()) == 1);
  const bool exact = BN_is_zero(rest.get());
  if (!exact) {
    const bool negative = BN_is_negative(number_.get());
    BN_set_negative(quotient.get(), 0);
    need(BN_add_word(quotient.get(), 1) == 1);
    BN_set_negative(quotient.get(), negative ? 1 : 0);
  }
  scale_ = scale;
  set(std::move(quotient));
  return exact;
}

int Decimal::remove_factors(std::uint64_t factor) {
  int times = 0;
  Number left(BN_dup(number_.get()));
  need(left != nullptr);
  while (!BN_is_zero(left.get()) && BN_mod_word(left.get(), factor) == 0) {
    BN_div_word(left.get(), factor);
    ++times;
  }
  set(std::move(left));
  return times;
}

std::string Decimal::digits() const {
  const std::unique_ptr<char, void (*)(char*)> text(BN_bn2dec(number_.get()), [](char* p) { OPENSSL_free(p); });
  need(text != nullptr);
  return text.get();
}

double Decimal::unscaled_as_double() const { return std::strtod(digits().c_str(), nullptr); }

}  // namespace fleetadm::cel
