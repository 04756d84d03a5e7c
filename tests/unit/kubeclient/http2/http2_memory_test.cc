#include "kubeclient/http2/http2_memory.h"

#include <array>
#include <cstring>
#include <gtest/gtest.h>

namespace fleetadm::kube {
namespace {

constexpr std::size_t kKib = 1024;

/// The memory that nghttp2 would take for a frame, filled.
void* take_frame(Http2Memory& memory, std::size_t size) {
  nghttp2_mem* const allocator = memory.allocator();
  memory.choosing_frame();
  void* const frame = allocator->malloc(size, allocator->mem_user_data);
  memory.frame_chosen();
  if (frame != nullptr) std::memset(frame, 'x', size);
  memory.used();
  return frame;
}

TEST(Http2Memory, GivesBackTheMemoryOfALargerFrameToo) {
  Http2Memory memory;
  nghttp2_mem* const allocator = memory.allocator();
  void* const first = allocator->malloc(16 * kKib, allocator->mem_user_data);
  memory.made();
  auto* const larger = static_cast<char*>(take_frame(memory, 64 * kKib));
  ASSERT_NE(larger, nullptr);
  allocator->free(first, allocator->mem_user_data);
  memory.give_back();
  EXPECT_EQ(larger[64 * kKib - 1], '\0');  // pages that were given back
  auto* const largest = static_cast<char*>(take_frame(memory, 65 * kKib));
  allocator->free(larger, allocator->mem_user_data);
  memory.give_back();
  EXPECT_EQ(largest[0], '\0');
  allocator->free(largest, allocator->mem_user_data);
}

TEST(Http2Memory, KeepsTheRingsBesideATableThatGoes) {
  Http2Memory memory;
  nghttp2_mem* const allocator = memory.allocator();
  auto* const table = static_cast<char*>(allocator->calloc(256, 16, allocator->mem_user_data));
  std::array<char*, 2> rings{};
  for (auto& ring : rings) {
    ring = static_cast<char*>(allocator->malloc(kKib, allocator->mem_user_data));
    ASSERT_NE(ring, nullptr);
    std::memset(ring, 'r', kKib);
  }
  memory.made();
  std::memset(table, 't', 4 * kKib);
  memory.used();
  memory.give_back();
  EXPECT_EQ(table[0], 't');  // something is left in it
  auto* const larger = static_cast<char*>(allocator->realloc(table, 8 * kKib, allocator->mem_user_data));
  EXPECT_EQ(larger[4 * kKib - 1], 't');
  memory.used();
  memory.give_back();
  EXPECT_EQ(table[0], '\0');  // the page, which is the memory's for as long as it lives
  for (char* const ring : rings) {
    EXPECT_EQ(ring[kKib - 1], 'r');
    allocator->free(ring, allocator->mem_user_data);
  }
  allocator->free(larger, allocator->mem_user_data);
}

TEST(Http2Memory, KeepsWhatIsNoFrame) {
  Http2Memory memory;
  nghttp2_mem* const allocator = memory.allocator();
  memory.made();
  auto* const header = static_cast<char*>(allocator->malloc(32 * kKib, allocator->mem_user_data));
  ASSERT_NE(header, nullptr);
  std::memset(header, 'x', 32 * kKib);
  memory.used();
  memory.give_back();
  EXPECT_EQ(header[0], 'x');
  auto* const moved = static_cast<char*>(allocator->realloc(header, 40 * kKib, allocator->mem_user_data));
  EXPECT_EQ(moved[32 * kKib - 1], 'x');
  allocator->free(moved, allocator->mem_user_data);
}

}  // namespace
}  // namespace fleetadm::kube
