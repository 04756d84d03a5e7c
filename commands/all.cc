#include "commands/framework/command.h"
#include "commands/version/version.h"

namespace fleetadm::commands {

void register_all(Registry& registry) { register_version(registry); }

}  // namespace fleetadm::commands
