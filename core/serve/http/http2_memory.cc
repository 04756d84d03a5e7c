#include "core/serve/http/http2_memory.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace fleetadm::serve {
namespace {

constexpr std::size_t kFrame = std::size_t{16} * 1024;  // without what stands before it

}  // namespace

Http2Memory::Http2Memory() : allocator_{} {
  allocator_.mem_user_data = this;
  allocator_.malloc = [](std::size_t size, void* self) { return static_cast<Http2Memory*>(self)->take(size); };
  allocator_.free = [](void* block, void* self) { static_cast<Http2Memory*>(self)->release(block); };
  allocator_.calloc = [](std::size_t count, std::size_t size, void*) { return std::calloc(count, size); };
  allocator_.realloc = [](void* block, std::size_t size, void* self) -> void* {
    auto& memory = *static_cast<Http2Memory*>(self);
    if (block == nullptr) return memory.take(size);
    if (block != memory.buffer_) return std::realloc(block, size);
    void* moved = std::malloc(size);
    if (moved == nullptr) return nullptr;
    std::memcpy(moved, block, size < memory.size_ ? size : memory.size_);
    memory.release(block);
    return moved;
  };
}

Http2Memory::~Http2Memory() {
  if (buffer_ != nullptr) ::munmap(buffer_, size_);
}

void* Http2Memory::take(std::size_t size) {
  if (!making_ || buffer_ != nullptr || size < kFrame) return std::malloc(size);
  void* pages = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return std::malloc(size);
  buffer_ = pages;
  size_ = size;
  return pages;
}

void Http2Memory::release(void* block) {
  if (block == nullptr || block != buffer_) return std::free(block);
  ::munmap(buffer_, size_);
  buffer_ = nullptr;
}

void Http2Memory::give_back() {
  if (idle_ || buffer_ == nullptr) return;
  idle_ = true;
  ::madvise(buffer_, size_, MADV_DONTNEED);
}

}  // namespace fleetadm::serve
