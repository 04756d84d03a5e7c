#include "core/sandbox/fleet/memory.h"

#include <algorithm>
#include <features.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "core/controller/metrics.h"

namespace fleetadm::sandbox {

#if defined(__GLIBC__)
namespace {

/// What is resident beyond what the heap has handed out. (Not how much the process has grown: what was in use the last time may
/// be free now.)
std::size_t spare_bytes() {
  const std::size_t resident = controller::resident_bytes();
#if __GLIBC_PREREQ(2, 33)
  const struct mallinfo2 heap = ::mallinfo2();
  return resident - std::min(resident, heap.uordblks + heap.hblkhd);
#else
  return resident;
#endif
}

}  // namespace
#endif

bool SpareMemory::give_back() {
#if defined(__GLIBC__)
  const std::size_t now = spare_bytes();
  rested_ = std::min(rested_, now);
  if (now < rested_ + kGrowth) return false;
  ::malloc_trim(0);
  // What others free meanwhile is for the next time; only what cannot be given back is not tried again.
  if (const std::size_t left = spare_bytes(); left + kGrowth > now) rested_ = left;
  return true;
#else
  return false;
#endif
}

}  // namespace fleetadm::sandbox
