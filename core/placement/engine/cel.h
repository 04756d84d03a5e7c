// The seam behind which CEL selectors are evaluated (docs/reference/cel.md#environments): the scheduler only asks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/placement/engine/types.h"

namespace fleetadm::placement {

class FleetState;

/// The expressions of one predicate, ready to be asked about many clusters.
class CelProgram {
 public:
  virtual ~CelProgram() = default;
  /// True where every expression yields true. Failures and exceeded limits are false, as is a cluster without its object.
  virtual bool matches(const FleetState& world, const Cluster& cluster) const = 0;
};

class CelEvaluator {
 public:
  virtual ~CelEvaluator() = default;
  /// The error's message is what PlacementMisconfigured says ("compilation failed: …").
  virtual Result<std::shared_ptr<const CelProgram>> compile(const std::vector<std::string>& expressions) const = 0;
};

/// Said of a placement with a CEL selector where no evaluator is given.
inline constexpr std::string_view kCelUnsupported = "celSelector is not supported by this scheduler";

}  // namespace fleetadm::placement
