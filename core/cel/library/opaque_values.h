// The values of Kubernetes' CEL types.
#pragma once

#include "core/cel/library/exact_quantity.h"
#include "core/cel/library/name_formats.h"
#include "core/cel/library/semantic_version.h"
#include "core/cel/library/url.h"
#include "core/cel/value.h"
#include "kubeclient/base/ip_address.h"

namespace fleetadm::cel {

struct UrlValue final : OpaqueOf<UrlValue> {
  explicit UrlValue(Url url) : value(std::move(url)) {}
  static Type cel_type();
  Type type() const override { return cel_type(); }
  bool equals(const Opaque& other) const override;
  std::string text() const override { return value.to_string(); }

  Url value;
};

struct QuantityValue final : OpaqueOf<QuantityValue> {
  explicit QuantityValue(ExactQuantity quantity) : value(std::move(quantity)) {}
  static Type cel_type();
  Type type() const override { return cel_type(); }
  bool equals(const Opaque& other) const override;
  std::string text() const override { return value.text(); }

  ExactQuantity value;
};

struct IpValue final : OpaqueOf<IpValue> {
  explicit IpValue(IpAddress address) : value(std::move(address)) {}
  static Type cel_type();
  Type type() const override { return cel_type(); }
  bool equals(const Opaque& other) const override;
  std::uint64_t size() const override { return static_cast<std::uint64_t>(value.bits() / 8); }
  std::string text() const override { return value.to_string(); }

  IpAddress value;
};

struct CidrValue final : OpaqueOf<CidrValue> {
  explicit CidrValue(IpPrefix prefix) : value(std::move(prefix)) {}
  static Type cel_type();
  Type type() const override { return cel_type(); }
  bool equals(const Opaque& other) const override;
  std::uint64_t size() const override { return static_cast<std::uint64_t>((value.length + 7) / 8); }
  std::string text() const override { return value.to_string(); }

  IpPrefix value;
};

struct FormatValue final : OpaqueOf<FormatValue> {
  explicit FormatValue(const NamedFormat& format) : value(format) {}
  static Type cel_type();
  Type type() const override { return cel_type(); }
  bool equals(const Opaque& other) const override;
  std::string text() const override { return std::string(value.name); }

  const NamedFormat& value;  // of the table, which never ends
};

struct SemverValue final : OpaqueOf<SemverValue> {
  explicit SemverValue(SemanticVersion version) : value(std::move(version)) {}
  static Type cel_type();
  Type type() const override { return cel_type(); }
  bool equals(const Opaque& other) const override;
  std::string text() const override { return value.to_string(); }

  SemanticVersion value;
};

}  // namespace fleetadm::cel
