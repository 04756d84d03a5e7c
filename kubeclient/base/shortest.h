// Numbers in the fewest digits that are read back as the very same number.
#pragma once

#include <string>

namespace fleetadm {

/// As 1.25e+10: what std::to_chars gives, whose tables for every precision would be 0.14 MB of the binary. The number is finite.
std::string shortest_scientific(double value);
std::string shortest_scientific(float value);

}  // namespace fleetadm
