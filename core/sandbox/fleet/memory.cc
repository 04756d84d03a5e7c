#include "core/sandbox/fleet/memory.h"

#include <algorithm>
#include <features.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "core/controller/metrics.h"

namespace fleetadm::sandbox {

bool SpareMemory::give_back() {
#if defined(__GLIBC__)
  const std::size_t now = controller::resident_bytes();
  rested_ = std::min(rested_, now);
  if (now < rested_ + kGrowth) return false;
  ::malloc_trim(0);
  rested_ = controller::resident_bytes();
  return true;
#else
  return false;
#endif
}

}  // namespace fleetadm::sandbox
