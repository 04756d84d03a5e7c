// IP addresses and prefixes as Go's net/netip reads and writes them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "kubeclient/base/result.h"

namespace fleetadm {

struct IpAddress {
  bool v6 = false;
  std::array<std::uint8_t, 16> bytes{};  // the first four for IPv4
  std::string zone;                      // IPv6 only

  /// kInvalid for what is no address. A zone is accepted and kept.
  static Result<IpAddress> parse(std::string_view text);

  int bits() const { return v6 ? 128 : 32; }
  bool is_mapped_v4() const;  // ::ffff:a.b.c.d
  bool is_unspecified() const;
  bool is_loopback() const;
  bool is_multicast() const;
  bool is_link_local_multicast() const;
  bool is_link_local_unicast() const;
  bool is_global_unicast() const;
  /// RFC 5952.
  std::string to_string() const;
  bool operator==(const IpAddress&) const = default;
};

/// An address and the length of its prefix; bits beyond the prefix may be set.
struct IpPrefix {
  IpAddress address;
  int length = 0;

  static Result<IpPrefix> parse(std::string_view text);
  bool contains(const IpAddress& other) const;
  bool contains(const IpPrefix& other) const;
  IpPrefix masked() const;
  std::string to_string() const;
  bool operator==(const IpPrefix&) const = default;
};

}  // namespace fleetadm
