// cel check, cel eval: CEL expressions tried out before they are shipped.
#pragma once

#include "commands/framework/command.h"
#include "core/cel/env.h"

namespace fleetadm::commands {

void register_cel(Registry& registry);
void register_cel_check(Registry& registry);
void register_cel_eval(Registry& registry);

/// "--env": selector (of cluster selectors), condition (of condition rules), message (of their message expressions).
Flag& environment_flag(FlagSet& flags, std::string* into);
Result<cel::Env> environment_of(const std::string& name);

/// The report on a text that does not compile: each mistake with its place, exit code 1.
Report report_of_failure(const cel::CompileFailure& failure, const std::string& environment);

}  // namespace fleetadm::commands
