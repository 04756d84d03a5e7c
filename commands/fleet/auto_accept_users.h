// Users whose clusters the hub controllers accept without a person: `hub run --auto-approve-user` of the installed hub.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/command.h"

namespace fleetadm::commands {

/// USER, or USER- to take one away. kUsage: no user, or everybody.
Status check_auto_accept_users(const std::vector<std::string>& changes);

/// Changes the arguments of the hub's Deployment as checked above; `wait`: until its controllers run with them.
Result<Report> change_auto_accept_users(Context& context, const kube::Client& hub, const std::vector<std::string>& changes,
                                        bool wait, Duration timeout);

}  // namespace fleetadm::commands
