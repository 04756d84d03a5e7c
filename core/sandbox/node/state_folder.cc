#include "core/sandbox/node/state_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace fleetadm::sandbox {

Result<std::unique_ptr<StateFolder>> StateFolder::make() {
  std::error_code error;
  std::string pattern = (std::filesystem::temp_directory_path(error) / "fleetadm-node-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    return fail(Category::kInternal, "cannot make a folder for the node's state: " + std::string(std::strerror(errno)),
                "set TMPDIR to a folder that can be written to");
  }
  return std::make_unique<StateFolder>(pattern);
}

StateFolder::~StateFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace fleetadm::sandbox
