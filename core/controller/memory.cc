#include "core/controller/memory.h"

#include <algorithm>
#include <cstdint>
#include <features.h>
#include <fstream>

#if defined(__GLIBC__) && defined(__linux__)
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace fleetadm::controller {

#if defined(__GLIBC__) && defined(__linux__)
namespace {

constexpr int kArenas = 2;
constexpr int kLargeBlock = 128 * 1024;  // bytes; a fixed threshold: glibc would raise it with each large block that is freed
constexpr int kFreeTop = 1024 * 1024;    // bytes at the heap's end that are kept; what is freed and taken again costs page faults

/// Segments that nobody writes hold what the file holds, so dropping their pages loses nothing.
int drop_unwritten(dl_phdr_info* object, std::size_t, void*) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr + page - 1) / page * page;
    const std::uintptr_t end = (object->dlpi_addr + segment.p_vaddr + segment.p_filesz) / page * page;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses are what the loader tells of its segments
    if (begin < end) (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void keep_memory_small() {
  ::mallopt(M_ARENA_MAX, kArenas);
  ::mallopt(M_MMAP_THRESHOLD, kLargeBlock);
  ::mallopt(M_TRIM_THRESHOLD, kFreeTop);
}

void give_memory_back() {
  ::malloc_trim(0);
  ::dl_iterate_phdr(drop_unwritten, nullptr);
}
#else
void keep_memory_small() {}
void give_memory_back() {}
#endif

namespace {

constexpr std::uint64_t kPage = 4096;

/// Bytes of the process that are no file's.
std::uint64_t own_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0, resident = 0, of_files = 0;
  return statm >> total >> resident >> of_files ? (resident - std::min(resident, of_files)) * kPage : 0;
}

}  // namespace

bool MemoryTidier::look(std::chrono::steady_clock::time_point now) {
  if (own_bytes() < kept_ + kGrowth && now - tidied_ < kLongest) return false;
  give_memory_back();
  kept_ = own_bytes();
  tidied_ = now;
  return true;
}

}  // namespace fleetadm::controller
