#include "core/serve/http/http2_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace fleetadm::serve {
namespace {

constexpr std::size_t kFrame = std::size_t{16} * 1024;  // without what stands before it
constexpr std::size_t kTable = std::size_t{4} * 1024;

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
  buffer_.unmap();
  table_.unmap();
}

void* Http2Memory::take(std::size_t size) {
  if (!making_ || buffer_.at != nullptr || size < kFrame) return std::malloc(size);
  return buffer_.map(size) ? buffer_.at : std::malloc(size);
}

void* Http2Memory::take_zeros(std::size_t count, std::size_t size) {
  const bool is_table = making_ && table_.at == nullptr && count > 1 && count * size == kTable;
  return is_table && table_.map(kTable) ? table_.at : std::calloc(count, size);
}

void* Http2Memory::move(void* block, std::size_t size) {
  if (block == nullptr) return take(size);
  if (block != buffer_.at && block != table_.at) return std::realloc(block, size);
  void* moved = std::malloc(size);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, block, std::min(size, block == buffer_.at ? buffer_.size : table_.size));
  release(block);
  return moved;
}

void Http2Memory::release(void* block) {
  if (block == nullptr || (block != buffer_.at && block != table_.at)) return std::free(block);
  (block == buffer_.at ? buffer_ : table_).unmap();
}

void Http2Memory::give_back() {
  if (idle_) return;
  idle_ = true;
  buffer_.drop();
  // A table in which something is left keeps its pages.
  const auto* const table = static_cast<const unsigned char*>(table_.at);
  if (table != nullptr && std::all_of(table, table + table_.size, [](unsigned char byte) { return byte == 0; })) table_.drop();
}

}  // namespace fleetadm::serve
