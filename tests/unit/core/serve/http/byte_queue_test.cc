#include "core/serve/http/byte_queue.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <string>

namespace fleetadm::serve {
namespace {

/// Bytes that tell where they stood.
std::string numbered(std::size_t from, std::size_t count) {
  std::string out(count, '\0');
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<char>((from + i) * 2654435761U >> 13U);
  return out;
}

TEST(ByteQueue, GivesInOrderWhatCameInWhateverPieces) {
  std::minstd_rand random(7);  // NOLINT(cert-msc51-cpp): the same every time
  const auto some = [&](std::size_t most) { return 1 + random() % most; };
  ByteQueue queue;
  std::size_t came = 0;
  std::size_t went = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::size_t most = round % 3 == 0 ? 100 : 100'000;
    if (random() % 2 == 0) {
      const std::string piece = numbered(came, some(most));
      if (random() % 2 == 0 && piece.size() <= ByteQueue::kPiece) {
        queue.tail(piece.size()).append(piece);
      } else {
        queue.append(piece);
      }
      came += piece.size();
    } else {
      std::string into(random() % 2 == 0 ? 0 : 3, '!');
      const std::string before = into;
      const std::size_t wanted = some(most);
      const std::size_t count = queue.take(into, wanted);
      ASSERT_LE(count, wanted);
      ASSERT_EQ(into, before + numbered(went, count));
      ASSERT_TRUE(count > 0 || went == came) << "nothing came of what was there";
      went += count;
    }
    ASSERT_EQ(queue.size(), came - went);
    ASSERT_EQ(queue.empty(), came == went);
  }
  EXPECT_GT(went, 10U * ByteQueue::kBlock);
}

TEST(ByteQueue, HandsOverABlockWithoutCopyingIt) {
  ByteQueue queue;
  std::string& block = queue.tail(ByteQueue::kPiece);
  block.append(ByteQueue::kPiece, 'x');
  const char* const at = block.data();
  std::string into;
  EXPECT_EQ(queue.take(into, ByteQueue::kBlock), ByteQueue::kPiece);
  EXPECT_EQ(into.data(), at);
  EXPECT_TRUE(queue.empty());
}

TEST(ByteQueue, HasNoBlockThatTheAllocatorWouldMap) {
  ByteQueue queue;
  queue.append(std::string(10 * ByteQueue::kBlock, 'x'));
  std::size_t took = 0;
  while (!queue.empty()) {
    std::string into;
    took += queue.take(into, 10 * ByteQueue::kBlock);
    EXPECT_LT(into.capacity(), std::size_t{128} * 1024);
  }
  EXPECT_EQ(took, 10 * ByteQueue::kBlock);
}

TEST(ByteQueue, IsAsNewOnceCleared) {
  ByteQueue queue;
  queue.append(std::string(3 * ByteQueue::kBlock, 'x'));
  std::string into;
  queue.take(into, 10);
  queue.clear();
  EXPECT_TRUE(queue.empty());
  queue.append("new");
  into.clear();
  EXPECT_EQ(queue.take(into, 100), 3U);
  EXPECT_EQ(into, "new");
}

}  // namespace
}  // namespace fleetadm::serve
