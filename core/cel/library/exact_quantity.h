// Kubernetes quantities with every trait that CEL can see: not only the amount, but also in which of two forms the number is
// held (up to 18 digits with a power of ten, or a decimal of any size), because asInteger, isInteger and asApproximateFloat
// tell the forms apart (apimachinery's resource.Quantity; docs/reference/cel.md#environments). For everything but CEL,
// kubeclient/base/quantity.h is the type to use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/cel/library/decimal.h"
#include "kubeclient/base/result.h"

namespace fleetadm::cel {

class ExactQuantity {
 public:
  enum class Format { kDecimalSI, kBinarySI, kDecimalExponent };

  /// kInvalid for what is no quantity. More than 1,024 characters or exponents beyond ±10,000 are refused (Kubernetes computes
  /// with them until memory or patience ends).
  static Result<ExactQuantity> parse(std::string_view text);
  static ExactQuantity from_int(std::int64_t value, Format format);

  int sign() const;
  int compare(const ExactQuantity& other) const;
  void add(const ExactQuantity& other);
  void subtract(const ExactQuantity& other);
  /// nullopt: not whole, beyond 64 bits, or not held in a form of which that is known at once.
  std::optional<std::int64_t> as_int() const;
  double approximate() const;
  /// As written where that was canonical enough to be kept, else the canonical form.
  std::string text() const;

 private:
  Decimal decimal() const;
  bool add_short(std::int64_t value, int scale);
  std::string canonical() const;

  Format format_ = Format::kDecimalSI;
  std::int64_t value_ = 0;  // × 10^exponent_, unless long_
  int exponent_ = 0;
  std::optional<Decimal> long_;
  std::string written_;
};

}  // namespace fleetadm::cel
