// "host:port", with brackets around an IPv6 address.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fleetadm {

struct HostPort {
  std::string host;  // without brackets
  std::string port;  // empty where none is given
};

/// "example.com:443", "[::1]:443", ":443", "example.com"; nothing where a bracket is not closed or text follows it. The port may
/// be any text.
std::optional<HostPort> split_host_port(std::string_view text);
std::string join_host_port(std::string_view host, std::string_view port);
/// A number from 0 to 65535 in digits.
std::optional<std::uint16_t> parse_port(std::string_view text);

}  // namespace fleetadm
