// What a registry asks for with 401 (RFC 9110, section 11).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fleetadm::image {

struct Challenge {
  std::string scheme;                         // in lower case: "bearer", "basic"
  std::map<std::string, std::string> values;  // by name in lower case: realm, service, scope
};

/// The challenges of a WWW-Authenticate header, or of several joined by commas. What cannot be read is left out.
std::vector<Challenge> parse_challenges(std::string_view header);

}  // namespace fleetadm::image
