// Names in the headers between gateway and agent. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fleetadm::proxy {

/// All but lower-case letters, digits and "-._~" as %xx, with small digits: names of headers have no capitals.
std::string percent_encoded(std::string_view text);
/// nullopt: an escape is broken.
std::optional<std::string> percent_decoded(std::string_view text);
/// Well-formed UTF-8 without control characters.
bool is_plain_text(std::string_view text);

}  // namespace fleetadm::proxy
