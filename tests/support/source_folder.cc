#include "tests/support/source_folder.h"

namespace fleetadm::testkit {

std::string source_folder() { return FLEETADM_SOURCE_DIR; }

}  // namespace fleetadm::testkit
