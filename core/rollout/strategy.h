// Reading a RolloutStrategy, with upstream's exact arithmetic (docs/reference/rollout.md#texts-of-a-strategy).
#pragma once

#include "core/rollout/types.h"
#include "kubeclient/base/json.h"

namespace fleetadm::rollout {

/// progressDeadline: "" and "None" are unlimited (nullopt). kInvalid where upstream refuses the text.
Result<std::optional<Duration>> parse_deadline(const std::string& text);

/// The threshold of `total`: a percentage is rounded up in doubles; what is not in 1…total is `otherwise`. kInvalid: no
/// percentage.
Result<std::int64_t> resolve(const Threshold& threshold, std::int64_t total, std::int64_t otherwise);

/// A RolloutStrategy object. An absent body has the defaults. kInvalid: an unknown or empty type, a bad duration, a threshold of
/// neither form where it is checked up front (maxFailures).
Result<Strategy> parse_strategy(const Json& strategy);

}  // namespace fleetadm::rollout
