// Decimal numbers of any size: an integer times a power of ten. What Kubernetes' quantities fall back to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct bignum_st;

namespace fleetadm::cel {

/// unscaled × 10^-scale. Scales within ±20,000 keep every operation cheap; callers see to that.
class Decimal {
 public:
  Decimal();
  Decimal(std::int64_t unscaled, int scale);
  /// Digits with an optional sign and point; false where there is no digit.
  static bool parse(std::string_view text, Decimal& out);
  static Decimal power_of_two(int exponent);

  int scale() const { return scale_; }
  /// The same digits, read at another scale.
  void set_scale(int scale) { scale_ = scale; }
  int sign() const;
  void negate();
  void multiply(const Decimal& other);
  void add(const Decimal& other);
  void subtract(const Decimal& other);
  int compare(const Decimal& other) const;
  /// The value at this scale, away from zero where digits are lost; false: some were.
  bool round_up(int scale);
  /// Takes out every factor; how many there were (0 for zero).
  int remove_factors(std::uint64_t factor);

  /// The unscaled integer's digits, and as double (nearest).
  std::string digits() const;
  double unscaled_as_double() const;

 private:
  struct Free {
    void operator()(bignum_st* number) const;
  };
  using Number = std::unique_ptr<bignum_st, Free>;
  static Number power_of_ten(int exponent);
  /// The unscaled integer at a scale that is not smaller.
  Number at_scale(int scale) const;

  std::shared_ptr<const bignum_st> number_;  // never null, never changed
  int scale_ = 0;
  void set(Number number);
};

}  // namespace fleetadm::cel
