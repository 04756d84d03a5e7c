#include <map>
#include <re2/re2.h>

#include "core/apimachinery/schema_node.h"
#include "core/cel/time.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/ip_address.h"

namespace fleetadm::apimachinery {
namespace {

/// Formats that a pattern decides.
const std::map<std::string, RE2, std::less<>>& patterns() {
  static const std::map<std::string, RE2, std::less<>> kPatterns = [] {
    std::map<std::string, RE2, std::less<>> made;
    const auto add = [&](const char* name, const char* pattern) { made.try_emplace(name, pattern); };
    add("bsonobjectid", "^[0-9a-fA-F]{24}$");
    add("email", R"(^[^\s@<>()]+@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$)");
    add("hostname", R"(^([a-zA-Z0-9¡-￿]((-?[a-zA-Z0-9¡-￿]{0,62})?)\.?)*[a-zA-Z¡-￿]*[a-zA-Z0-9]$)");
    add("ipv4", R"(^((25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(25[0-5]|2[0-4]\d|1?\d?\d)$)");
    add("mac", R"(^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$|^([0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}$)");
    add("uuid", "^(?i)[0-9A-F]{8}-?[0-9A-F]{4}-?[0-9A-F]{4}-?[0-9A-F]{4}-?[0-9A-F]{12}$");
    add("uuid3", "^(?i)[0-9A-F]{8}-?[0-9A-F]{4}-?3[0-9A-F]{3}-?[0-9A-F]{4}-?[0-9A-F]{12}$");
    add("uuid4", "^(?i)[0-9A-F]{8}-?[0-9A-F]{4}-?4[0-9A-F]{3}-?[89AB][0-9A-F]{3}-?[0-9A-F]{12}$");
    add("uuid5", "^(?i)[0-9A-F]{8}-?[0-9A-F]{4}-?5[0-9A-F]{3}-?[89AB][0-9A-F]{3}-?[0-9A-F]{12}$");
    add("ssn", R"(^\d{3}[- ]?\d{2}[- ]?\d{4}$)");
    add("hexcolor", "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$");
    add("rgbcolor", R"(^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$)");
    add("date", R"(^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$)");
    add("uri", R"(^([A-Za-z][A-Za-z0-9+.-]*:[^\s]+|/[^\s]*)$)");
    return made;
  }();
  return kPatterns;
}

bool is_ipv6(std::string_view text) {
  const auto address = IpAddress::parse(text);
  return address && address->v6 && address->zone.empty();
}

bool is_cidr(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view address = text.substr(0, slash);
  static const RE2 kLength(R"((\d{1,3}))");
  int length = 0;
  if (!RE2::FullMatch(text.substr(slash + 1), kLength, &length)) return false;
  return has_format(address, "ipv4") ? length <= 32 : is_ipv6(address) && length <= 128;
}

}  // namespace

bool has_format(std::string_view text, std::string_view format) {
  if (format == "date-time") return cel::parse_timestamp(text).has_value();
  if (format == "duration") return cel::parse_duration(text).has_value();
  if (format == "byte") return base64_decode(text).has_value();
  if (format == "ipv6") return is_ipv6(text);
  if (format == "cidr") return is_cidr(text);
  const auto at = patterns().find(format);
  return at == patterns().end() || RE2::PartialMatch(text, at->second);
}

}  // namespace fleetadm::apimachinery
