// The address at which a hub is to dial a member, before anything is sent there.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/result.h"

namespace fleetadm::join {

struct MemberEndpoint {
  std::string host;  // a name or an IP address, without brackets
  std::string port;  // "443" where none is given
  std::string path;  // empty, or "/prefix" without a slash at its end
  bool loopback = false;

  std::string url() const;  // canonical
};

/// https://HOST[:PORT][/PATH] alone: no credentials, no query, no fragment, nothing that a header or a terminal would obey.
/// kUsage, with the part that is wrong.
Result<MemberEndpoint> parse_member_endpoint(std::string_view url);

/// Why no hub is to dial an IP address, as what the address is: link-local, multicast, or where clouds keep what machines are
/// told of themselves. Empty: none of these, or no address.
std::string_view refused_address(std::string_view address);

/// Of an IP address as text; what is no address is none.
bool is_loopback_address(std::string_view address);

}  // namespace fleetadm::join
