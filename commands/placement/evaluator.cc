#include "commands/placement/evaluator.h"

namespace fleetadm::commands {

const placement::CelEvaluator* cel_evaluator() { return nullptr; }

}  // namespace fleetadm::commands
