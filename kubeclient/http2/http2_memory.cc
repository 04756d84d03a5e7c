#include "kubeclient/http2/http2_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sys/mman.h>

namespace fleetadm::kube {
namespace {

constexpr std::size_t kFrame = std::size_t{16} * 1024;  // without what stands before it
constexpr std::size_t kTable = std::size_t{4} * 1024;   // a page
constexpr std::size_t kRing = 1024;
constexpr std::size_t kMostRings = 2;  // of what is sent, and of what comes

}  // namespace

bool Http2Memory::Pages::map(std::size_t bytes) {
  void* pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return false;
  at = pages;
  size = bytes;
  return true;
}

void Http2Memory::Pages::unmap() {
  if (at != nullptr) ::munmap(at, size);
  at = nullptr;
}

void Http2Memory::Pages::drop() const {
  if (at != nullptr) ::madvise(at, size, MADV_DONTNEED);
}

Http2Memory::Http2Memory() : allocator_{} {
  allocator_.mem_user_data = this;
  allocator_.malloc = [](std::size_t size, void* self) { return static_cast<Http2Memory*>(self)->take(size); };
  allocator_.free = [](void* block, void* self) { static_cast<Http2Memory*>(self)->release(block); };
  allocator_.calloc = [](std::size_t count, std::size_t size, void* self) {
    return static_cast<Http2Memory*>(self)->take_zeros(count, size);
  };
  allocator_.realloc = [](void* block, std::size_t size, void* self) {
    return static_cast<Http2Memory*>(self)->move(block, size);
  };
}

Http2Memory::~Http2Memory() {
  for (auto& buffer : buffers_) buffer.unmap();
  tables_.unmap();
}

Http2Memory::Pages* Http2Memory::frame_at(const void* block) {
  const auto at = std::ranges::find(buffers_, block, &Pages::at);
  return at == buffers_.end() ? nullptr : &*at;
}

/// Null where they cannot be had.
char* Http2Memory::tables() {
  if (tables_.at == nullptr) tables_.map(kTable + kMostRings * kRing);
  return static_cast<char*>(tables_.at);
}

std::size_t Http2Memory::size_in_tables(const void* block) const {
  if (tables_.at == nullptr) return 0;
  if (block == tables_.at) return kTable;
  const auto* const begin = static_cast<const char*>(tables_.at);
  const std::less<const char*> before;
  const auto* const at = static_cast<const char*>(block);
  return !before(at, begin) && before(at, begin + tables_.size) ? kRing : 0;
}

void* Http2Memory::take(std::size_t size) {
  if (making_ && size == kRing && rings_ < kMostRings && tables() != nullptr) return tables() + kTable + kRing * rings_++;
  if ((!making_ && !choosing_) || size < kFrame) return std::malloc(size);
  const auto free = std::ranges::find(buffers_, nullptr, &Pages::at);
  return free != buffers_.end() && free->map(size) ? free->at : std::malloc(size);
}

void* Http2Memory::take_zeros(std::size_t count, std::size_t size) {
  const bool is_table = making_ && !has_table_ && count > 1 && count * size == kTable;
  if (!is_table || tables() == nullptr) return std::calloc(count, size);
  has_table_ = true;
  return tables();
}

void* Http2Memory::move(void* block, std::size_t size) {
  if (block == nullptr) return take(size);
  const Pages* const frame = frame_at(block);
  const auto before = frame != nullptr ? frame->size : size_in_tables(block);
  if (before == 0) return std::realloc(block, size);
  void* moved = std::malloc(size);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, block, std::min(size, before));
  release(block);
  return moved;
}

void Http2Memory::release(void* block) {
  if (block == nullptr) return;
  if (Pages* const frame = frame_at(block); frame != nullptr) return frame->unmap();
  if (size_in_tables(block) == 0) return std::free(block);
  if (block == tables_.at) has_table_ = false;
}

void Http2Memory::give_back() {
  if (idle_) return;
  idle_ = true;
  for (const auto& buffer : buffers_) buffer.drop();
  // A table in which something is left keeps its page.
  const auto* const table = static_cast<const unsigned char*>(tables_.at);
  const bool is_free = !has_table_ || std::all_of(table, table + kTable, [](unsigned char byte) { return byte == 0; });
  if (table != nullptr && is_free) ::madvise(tables_.at, kTable, MADV_DONTNEED);
}

}  // namespace fleetadm::kube
