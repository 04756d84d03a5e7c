// The evaluator of CEL selectors that simulations and explanations ask.
#pragma once

#include "core/placement/cel.h"

namespace fleetadm::commands {

/// nullptr where none is built in: a placement with a CEL selector is then answered as misconfigured.
const placement::CelEvaluator* cel_evaluator();

}  // namespace fleetadm::commands
