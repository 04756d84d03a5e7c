// The flags that say how the hub judges the clusters that it dials: the same of `init` and of `hub run`, which init starts with
// them.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/command.h"

namespace fleetadm::commands {

struct PushHealthOptions {
  Duration probe_period = std::chrono::seconds(10);
  Duration failure_hold = std::chrono::seconds(30);
  Duration success_hold = std::chrono::seconds(30);
  Duration give_up_after = Duration::zero();  // zero: never
};

void bind_push_health(FlagSet& flags, PushHealthOptions& options);
/// `push`: whether the hub dials clusters at all.
Status validate_push_health(const PushHealthOptions& options, bool push);
/// What `hub run` is given for them.
std::vector<std::string> push_health_args(const PushHealthOptions& options);

}  // namespace fleetadm::commands
