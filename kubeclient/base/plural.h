// Counts in messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fleetadm {

/// "1 cluster", "2 clusters", "0 batches": the count and the English noun in the number that fits it. Nouns with an irregular
/// plural are not known.
std::string pluralize(std::uint64_t count, std::string_view noun);

}  // namespace fleetadm
