#include "core/cel/library/opaque_values.h"

namespace fleetadm::cel {

Type UrlValue::cel_type() { return Type::opaque("kubernetes.URL"); }
Type QuantityValue::cel_type() { return Type::opaque("kubernetes.Quantity"); }
Type IpValue::cel_type() { return Type::opaque("net.IP"); }
Type CidrValue::cel_type() { return Type::opaque("net.CIDR"); }
Type FormatValue::cel_type() { return Type::opaque("kubernetes.NamedFormat"); }
Type SemverValue::cel_type() { return Type::opaque("kubernetes.Semver"); }

bool UrlValue::equals(const Opaque& other) const {
  const auto* same = other.as<UrlValue>();
  return same != nullptr && value.to_string() == same->value.to_string();
}

bool QuantityValue::equals(const Opaque& other) const {
  const auto* same = other.as<QuantityValue>();
  return same != nullptr && value.compare(same->value) == 0;
}

bool IpValue::equals(const Opaque& other) const {
  const auto* same = other.as<IpValue>();
  return same != nullptr && value == same->value;
}

bool CidrValue::equals(const Opaque& other) const {
  const auto* same = other.as<CidrValue>();
  return same != nullptr && value == same->value;
}

bool FormatValue::equals(const Opaque& other) const {
  const auto* same = other.as<FormatValue>();
  return same != nullptr && value.name == same->value.name;
}

bool SemverValue::equals(const Opaque& other) const {
  const auto* same = other.as<SemverValue>();
  return same != nullptr && value.compare(same->value) == 0;
}

}  // namespace fleetadm::cel
