// Programs that tests run beside ours and that a script of ours builds once (tests/kube/build.sh and the like).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "kubeclient/base/result.h"

namespace fleetadm::testkit {

/// The folder that holds all `programs`: the one that the environment variable names (may be empty: none does), else the one that
/// the script (a path below the source folder) prints. kUnavailable where a program is missing; `hint` says how to get them.
Result<std::string> equipment(const char* variable, std::string_view script, std::initializer_list<const char*> programs,
                              std::string hint);

/// CI=true: what cannot run is a failure, not a skip.
bool in_ci();

}  // namespace fleetadm::testkit
