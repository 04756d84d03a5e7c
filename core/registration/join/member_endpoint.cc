#include "core/registration/join/member_endpoint.h"

#include <algorithm>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/host_port.h"
#include "kubeclient/base/ip_address.h"
#include "kubeclient/base/log.h"
#include "kubeclient/base/names.h"

namespace fleetadm::join {
namespace {

constexpr std::string_view kHttps = "https://";

tl::unexpected<Error> bad_endpoint(std::string_view url, const std::string& why) {
  // What stands before an @ may be a password.
  const std::size_t at = url.find('@');
  const std::string shown = at == std::string_view::npos ? std::string(url) : "…" + std::string(url.substr(at));
  return fail(Category::kUsage, "the member's API server \"" + log::escape_terminal(shown) + "\" " + why,
              "for example: https://c1.example.com:6443");
}

bool is_odd(char c) {
  return static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7f ||
         std::string_view("\\\"<>^`{|}").find(c) != std::string_view::npos;
}

/// "2130706433", "127.1" and "0x7f.1": resolvers of many systems take them for IPv4 addresses, each in its own way.
bool ends_in_number(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('.') + 1);  // npos + 1 is 0
  const bool hex = last.starts_with("0x");
  return std::all_of(last.begin() + (hex ? 2 : 0), last.end(),
                     [&](char c) { return (c >= '0' && c <= '9') || (hex && c >= 'a' && c <= 'f'); });
}

/// Beside those that are link-local: of AWS and Google Cloud by IPv6, of Alibaba Cloud, and of Azure.
constexpr std::string_view kMetadataServices[]{"fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16"};

/// An IPv4 address that is written as one of IPv6 is that one.
IpAddress plain(const IpAddress& address) {
  if (!address.is_mapped_v4()) return address;
  IpAddress v4;
  std::copy(address.bytes.begin() + 12, address.bytes.end(), v4.bytes.begin());
  return v4;
}

}  // namespace

std::string MemberEndpoint::url() const { return std::string(kHttps) + join_host_port(host, port) + path; }

bool is_loopback_address(std::string_view address) {
  const auto parsed = IpAddress::parse(address);
  if (!parsed) return false;
  const IpAddress one = plain(*parsed);
  return one.is_loopback() || one.is_unspecified() || (!one.v6 && one.bytes[0] == 0);
}

std::string_view refused_address(std::string_view address) {
  const auto parsed = IpAddress::parse(address);
  if (!parsed) return {};
  const IpAddress one = plain(*parsed);
  if (one.is_multicast() || one.is_link_local_unicast()) return "a link-local or multicast address";
  const std::string text = one.to_string();
  if (std::find(std::begin(kMetadataServices), std::end(kMetadataServices), text) != std::end(kMetadataServices))
    return "the address of a cloud's metadata service";
  return {};
}

Result<MemberEndpoint> parse_member_endpoint(std::string_view url) {
  if (std::any_of(url.begin(), url.end(), is_odd)) return bad_endpoint(url, "has a character that no URL has");
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return bad_endpoint(url, "has no scheme");
  if (lower_case(url.substr(0, scheme)) != "https") return bad_endpoint(url, "is not an https URL");
  const std::string_view rest = url.substr(scheme + 3);
  if (rest.find_first_of("?#") != std::string_view::npos) return bad_endpoint(url, "has a query or a fragment");
  const std::string_view authority = rest.substr(0, rest.find('/'));
  if (authority.find('@') != std::string_view::npos) return bad_endpoint(url, "holds credentials");
  const bool brackets = authority.starts_with('[');
  const auto parts = split_host_port(authority);
  if (!parts || parts->host.empty()) return bad_endpoint(url, "has no host");
  MemberEndpoint endpoint;
  endpoint.host = lower_case(parts->host);
  const auto address = IpAddress::parse(endpoint.host);
  if (brackets != (address && address->v6))
    return bad_endpoint(url, brackets ? "has no IPv6 address in its brackets" : "has an IPv6 address without brackets");
  if (address && !address->zone.empty())
    return bad_endpoint(url, "has an address with a zone, which means something on one machine only");
  if (const std::string_view what = refused_address(endpoint.host); !what.empty())
    return bad_endpoint(url, "has " + std::string(what) + ", which means another thing on each machine");
  std::string_view name = endpoint.host;
  if (name.ends_with('.')) name.remove_suffix(1);
  if (!address && !is_dns_subdomain(name)) return bad_endpoint(url, "has a host that is no DNS name");
  if (!address && ends_in_number(name)) return bad_endpoint(url, "has a host that is a number, but no IP address in full");
  endpoint.loopback = address ? is_loopback_address(endpoint.host) : name == "localhost" || name.ends_with(".localhost");
  if (authority.ends_with(':')) return bad_endpoint(url, "has a colon without a port");
  endpoint.port = parts->port.empty() ? "443" : parts->port;
  const auto port = parse_port(endpoint.port);
  if (!port || *port == 0) return bad_endpoint(url, "has a port that is none from 1 to 65535");
  endpoint.port = std::to_string(*port);
  std::string_view path = rest.substr(authority.size());
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.find("//") != std::string_view::npos || (std::string(path) + "/").find("/../") != std::string::npos ||
      (std::string(path) + "/").find("/./") != std::string::npos)
    return bad_endpoint(url, "has a path that is not in its shortest form");
  endpoint.path = path;
  return endpoint;
}

}  // namespace fleetadm::join
