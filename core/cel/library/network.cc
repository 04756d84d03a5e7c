// Kubernetes' IP and CIDR libraries.
#include "core/cel/library/libraries.h"
#include "core/cel/library/opaque_values.h"

namespace fleetadm::cel {
namespace {

using Args = std::span<const Value>;

// Neither a zone nor an IPv4 address dressed as IPv6: both would make equal addresses unequal.
Result<IpAddress> parse_address(std::string_view text) {
  FLEETADM_TRY(IpAddress address, IpAddress::parse(text));
  if (!address.zone.empty())
    return fail(Category::kInvalid, "IP address \"" + std::string(text) + "\" with zone value is not allowed");
  if (address.is_mapped_v4())
    return fail(Category::kInvalid, "IPv4-mapped IPv6 address \"" + std::string(text) + "\" is not allowed");
  return address;
}

Result<IpPrefix> parse_prefix(std::string_view text) {
  FLEETADM_TRY(IpPrefix prefix, IpPrefix::parse(text));
  if (prefix.address.is_mapped_v4())
    return fail(Category::kInvalid, "IPv4-mapped IPv6 address \"" + std::string(text) + "\" is not allowed");
  return prefix;
}

Value address_value(IpAddress address) { return Value::opaque(std::make_unique<const IpValue>(std::move(address))); }
Value prefix_value(IpPrefix prefix) { return Value::opaque(std::make_unique<const CidrValue>(std::move(prefix))); }

Value to_address(CallContext&, Args args) {
  auto address = parse_address(args[0].text());
  return address ? address_value(std::move(*address)) : Value::error(address.error().message);
}

Value to_prefix(CallContext&, Args args) {
  auto prefix = parse_prefix(args[0].text());
  if (!prefix) return Value::error("network address parse error during conversion from string: " + prefix.error().message);
  return prefix_value(std::move(*prefix));
}

Value is_address(CallContext&, Args args) { return Value::boolean(parse_address(args[0].text()).has_value()); }
Value is_prefix(CallContext&, Args args) { return Value::boolean(parse_prefix(args[0].text()).has_value()); }

Value is_canonical(CallContext&, Args args) {
  const auto address = parse_address(args[0].text());
  if (!address) return Value::error(address.error().message);
  return Value::boolean(address->to_string() == args[0].text());
}

template <class Wrapped, class Read>
Implementation of(Read read) {
  return [read](CallContext&, Args args) {
    const auto* wrapped = args[0].as<Wrapped>();
    return wrapped == nullptr ? Value::no_such_overload() : Value(read(wrapped->value));
  };
}

template <bool (IpAddress::*test)() const>
Implementation is() {
  return of<IpValue>([](const IpAddress& address) { return Value::boolean((address.*test)()); });
}

Value contains_address(CallContext&, Args args) {
  const auto* prefix = args[0].as<CidrValue>();
  const auto* address = args[1].as<IpValue>();
  if (prefix == nullptr || address == nullptr) return Value::no_such_overload();
  return Value::boolean(prefix->value.contains(address->value));
}

Value contains_address_text(CallContext&, Args args) {
  const auto* prefix = args[0].as<CidrValue>();
  const auto address = parse_address(args[1].text());
  if (prefix == nullptr || !address) return Value::no_such_overload();
  return Value::boolean(prefix->value.contains(*address));
}

Value contains_prefix(CallContext&, Args args) {
  const auto* prefix = args[0].as<CidrValue>();
  const auto* other = args[1].as<CidrValue>();
  if (prefix == nullptr || other == nullptr) return Value::no_such_overload();
  return Value::boolean(prefix->value.contains(other->value));
}

Value contains_prefix_text(CallContext&, Args args) {
  const auto* prefix = args[0].as<CidrValue>();
  const auto other = parse_prefix(args[1].text());
  if (prefix == nullptr || !other) return Value::no_such_overload();
  return Value::boolean(prefix->value.contains(*other));
}

}  // namespace

Library ip_library() {
  const Type text = Type::string();
  const Type yes_no = Type::boolean();
  const Type ip = IpValue::cel_type();
  const auto family = of<IpValue>([](const IpAddress& address) { return Value::integer(address.v6 ? 6 : 4); });
  const auto written = of<IpValue>([](const IpAddress& address) { return Value::string(address.to_string()); });
  Library library{.name = "kubernetes.net.ip"};
  library.constants = {{ip.name(), Type::type(ip), Value::type(ip)}};
  library.functions = {
      {"ip", {global("string_to_ip", {text}, ip, to_address)}},
      {"isIP", {global("is_ip", {text}, yes_no, is_address)}},
      {"ip.isCanonical", {global("ip_is_canonical", {text}, yes_no, is_canonical)}},
      {"string", {global("ip_to_string", {ip}, text, written)}},
      {"family", {member("ip_family", {ip}, Type::integer(), family)}},
      {"isUnspecified", {member("ip_is_unspecified", {ip}, yes_no, is<&IpAddress::is_unspecified>())}},
      {"isLoopback", {member("ip_is_loopback", {ip}, yes_no, is<&IpAddress::is_loopback>())}},
      {"isLinkLocalMulticast", {member("ip_is_link_local_multicast", {ip}, yes_no, is<&IpAddress::is_link_local_multicast>())}},
      {"isLinkLocalUnicast", {member("ip_is_link_local_unicast", {ip}, yes_no, is<&IpAddress::is_link_local_unicast>())}},
      {"isGlobalUnicast", {member("ip_is_global_unicast", {ip}, yes_no, is<&IpAddress::is_global_unicast>())}},
  };
  return library;
}

Library cidr_library() {
  const Type text = Type::string();
  const Type yes_no = Type::boolean();
  const Type ip = IpValue::cel_type();
  const Type cidr = CidrValue::cel_type();
  const auto address = of<CidrValue>([](const IpPrefix& prefix) { return address_value(prefix.address); });
  const auto length = of<CidrValue>([](const IpPrefix& prefix) { return Value::integer(prefix.length); });
  const auto masked = of<CidrValue>([](const IpPrefix& prefix) { return prefix_value(prefix.masked()); });
  const auto written = of<CidrValue>([](const IpPrefix& prefix) { return Value::string(prefix.to_string()); });
  Library library{.name = "kubernetes.net.cidr"};
  library.constants = {{cidr.name(), Type::type(cidr), Value::type(cidr)}};
  library.functions = {
      {"cidr", {global("string_to_cidr", {text}, cidr, to_prefix)}},
      {"isCIDR", {global("is_cidr", {text}, yes_no, is_prefix)}},
      {"string", {global("cidr_to_string", {cidr}, text, written)}},
      {"containsIP",
       {member("cidr_contains_ip_string", {cidr, text}, yes_no, contains_address_text),
        member("cidr_contains_ip_ip", {cidr, ip}, yes_no, contains_address)}},
      {"containsCIDR",
       {member("cidr_contains_cidr_string", {cidr, text}, yes_no, contains_prefix_text),
        member("cidr_contains_cidr", {cidr, cidr}, yes_no, contains_prefix)}},
      {"ip", {member("cidr_ip", {cidr}, ip, address)}},
      {"prefixLength", {member("cidr_prefix_length", {cidr}, Type::integer(), length)}},
      {"masked", {member("cidr_masked", {cidr}, cidr, masked)}},
  };
  return library;
}

}  // namespace fleetadm::cel
