// A quick look at the text of a body: nearly none gives a key twice.
#pragma once

#include <string_view>

namespace fleetadm::apimachinery {

/// True: this is the text of JSON objects, none of which gives a key twice. False: one may, or the text is something else. What
/// it is is for a parser to say: values are hardly looked at, and keys with escapes are not vouched for.
bool has_unique_keys(std::string_view text);

}  // namespace fleetadm::apimachinery
