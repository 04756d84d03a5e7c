// Images for real nodes, as files: nothing is pulled.
#pragma once

#include <string>

#include "kubeclient/base/result.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::testkit {

inline constexpr const char* kWorkloadImage = "localhost/workload:1";

/// Of the program tests/support/programs/workload.cc, as "/workload"; pods' sandboxes run it, too.
Result<std::string> save_workload_image(const TemporaryFolder& folder);

/// Of fleetadm as version kFormerVersion: the binary under test, which calls itself that.
inline constexpr const char* kFormerVersion = "v0.0.0";
Result<std::string> save_former_image(const TemporaryFolder& folder);

}  // namespace fleetadm::testkit
