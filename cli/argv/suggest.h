// "Did you mean", for what is typed (the words themselves: commands/framework/suggest.h).
#pragma once

#include "commands/framework/suggest.h"

namespace fleetadm::cli {

using commands::edit_distance;
using commands::nearest;

}  // namespace fleetadm::cli
