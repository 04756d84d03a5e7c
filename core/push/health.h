// How a push member is: by the rules that agents judge their own cluster by.
#pragma once

#include "core/registration/agent/readiness.h"

namespace fleetadm::push {

using registration::agent::Health;
using registration::agent::Holds;
using registration::agent::holds_of;
using registration::agent::is_alive;
using registration::agent::is_unknown;
using registration::agent::judge;
using registration::agent::kHealthPath;
using registration::agent::kLivePath;
using registration::agent::kReadyPath;
using registration::agent::Look;
using registration::agent::look_of;
using registration::agent::look_of_both;
using registration::agent::Memory;
using registration::agent::Seen;
using registration::agent::write_gave_up;
using registration::agent::write_ready;

}  // namespace fleetadm::push
