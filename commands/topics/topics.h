// Pages that several commands share.
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_topics(Registry& registry);

// The sections of fleetadm-scenarios(7), one an engine. A new engine adds its own file, its line here and its line in
// scenarios.cc.
Topic::Section placement_scenarios();
Topic::Section rollout_scenarios();
Topic::Section work_scenarios();
Topic::Section cel_scenarios();
Topic::Section addon_scenarios();

Topic sandbox_limits_topic();  // fleetadm-sandbox-limits(7)

}  // namespace fleetadm::commands
