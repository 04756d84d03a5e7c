#include "core/placement/engine/score.h"

namespace fleetadm::placement {

std::int64_t normalize_score(double value, double least, double most) {
  if (value > most) return kMaxScore;
  if (!(value > least)) return kLeastScore;
  constexpr double kSpan = static_cast<double>(kMaxScore - kLeastScore);
  // Where the span overflows, the share is no number; the middle is as good as any.
  const double score = kSpan * (value - least) / (most - least) + static_cast<double>(kLeastScore);
  return score >= -100.0 && score <= 100.0 ? static_cast<std::int64_t>(score) : 0;
}

}  // namespace fleetadm::placement
