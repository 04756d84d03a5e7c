// The names of files in an archive that tar makes beside a container's process: kubectl cp takes only those that begin with the
// path that it asked for, and that path is another one here (ContainerPlace::folders).
#pragma once

#include <map>
#include <string>

namespace fleetadm::sandbox {

/// The value of TAR_OPTIONS with which GNU tar names files under a folder's stand-in as the container does. Folders with other
/// characters than letters, digits and "/._+-" are left out.
std::string tar_options(const std::map<std::string, std::string>& folders);

}  // namespace fleetadm::sandbox
