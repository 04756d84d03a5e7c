// "--what-if": changes to a fleet that are only imagined.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/inputs.h"

namespace fleetadm::commands {

/// "--what-if down=c3,taint=c4:key=v:NoSelect,…", repeated or with commas.
Flag& what_if_flag(FlagSet& flags, std::vector<std::string>* into);

/// Makes the changes in their order:
///   down=CLUSTER                     as the hub does with a cluster that is silent: condition Unknown, taint unreachable
///   up=CLUSTER                       available again, without the taints that follow availability
///   taint=CLUSTER:KEY[=VALUE]:EFFECT untaint=CLUSTER:KEY
///   label=CLUSTER:KEY=VALUE          label=CLUSTER:KEY- takes it away
///   remove=CLUSTER
///   add=FILE                         the objects of a file or folder; those of the same name are replaced
/// kUsage: not understood; kNotFound: no such cluster, with what it may have meant.
Status apply_what_if(Context& context, const std::vector<std::string>& changes, const std::string& default_ns, Inputs& inputs);

}  // namespace fleetadm::commands
