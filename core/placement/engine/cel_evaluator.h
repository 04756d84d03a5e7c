// CEL selectors, evaluated (docs/reference/cel.md#environments, docs/reference/cel.md#cost).
#pragma once

#include <memory>

#include "core/placement/engine/cel.h"

namespace fleetadm::placement {

/// Compiled programs are kept, so that a placement which runs again does not compile again. Thread-safe.
Result<std::shared_ptr<const CelEvaluator>> make_cel_evaluator();

}  // namespace fleetadm::placement
