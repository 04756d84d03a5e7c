// Kubernetes quantities ("500m", "1.5Gi", "1e3"): exact decimal arithmetic, canonical text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kubeclient/base/result.h"

namespace fleetadm {

/// A quantity as an integer number of nano units in 128 bits (Kubernetes' own precision) and the format it was written in.
class Quantity {
 public:
  enum class Format { kDecimalSI, kBinarySI, kDecimalExponent };

  Quantity() = default;
  /// kInvalid for anything else than Kubernetes' grammar (a number without digits, which it reads as 0, included). Capped at
  /// 2^63-1 where written in binary units, else at 10^27.
  static Result<Quantity> parse(std::string_view text);
  static Quantity from_int(std::int64_t units, Format format = Format::kDecimalSI);

  /// Rounded up to whole units, saturating at the int64 range (Quantity.Value()).
  std::int64_t value() const;
  /// Rounded up to thousandths (Quantity.MilliValue()).
  std::int64_t milli_value() const;
  /// As double (AsApproximateFloat64()).
  double approximate() const;
  bool is_zero() const { return nano_ == 0; }

  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  int compare(const Quantity& other) const;

  /// Canonical form: no fractional digits, the largest suffix that keeps it exact ("1500m", "1536Mi"); binary quantities that
  /// are under 1024 or not whole are written in decimal.
  std::string to_string() const;

 private:
  __extension__ using Wide = __int128;
  Wide nano_ = 0;
  Format format_ = Format::kDecimalSI;
};

}  // namespace fleetadm
