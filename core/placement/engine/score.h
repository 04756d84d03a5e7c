// Values of any range as scores (upstream's addon framework counts the same way; pinned by its recorded answers).
#pragma once

#include <cstdint>

namespace fleetadm::placement {

inline constexpr std::int64_t kLeastScore = -100;
inline constexpr std::int64_t kMaxScore = 100;

/// Where `value` stands between `least` and `most`, from -100 to 100, fraction dropped: at or below `least` it is -100, above
/// `most` 100. NaN counts as the least.
std::int64_t normalize_score(double value, double least, double most);

}  // namespace fleetadm::placement
