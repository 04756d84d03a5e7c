#include "tests/support/sanitizers.h"

#include <dlfcn.h>

namespace fleetadm::testkit {

bool sanitized() { return ::dlsym(RTLD_DEFAULT, "__asan_init") != nullptr || ::dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr; }

}  // namespace fleetadm::testkit
