#include "core/serve/http/http2_frames.h"

#include <gtest/gtest.h>

namespace fleetadm::serve {
namespace {

constexpr std::size_t kKib = 1024;
constexpr std::size_t kWrite = 64 * kKib;

TEST(Http2Frames, AreAsLargeAsThePeerTakesButForATunnelsLargest) {
  EXPECT_EQ(most_in_frame(16384), 16384);
  EXPECT_EQ(most_in_frame(1 << 20), 64 * 1024);
}

TEST(Http2Frames, FillAWriteExactly) {
  EXPECT_EQ(frame_payload(kWrite, 500 * kKib, 0, kWrite), kWrite - kHttp2FrameHead);
  EXPECT_EQ(frame_payload(kWrite, 500 * kKib, 40 * kKib, kWrite), 24 * kKib - kHttp2FrameHead);
  EXPECT_EQ(frame_payload(16 * kKib, 500 * kKib, 0, kWrite), 16 * kKib);
}

TEST(Http2Frames, LeaveNoLittleRest) {
  EXPECT_EQ(frame_payload(kWrite, kWrite, 0, kWrite), kWrite);
  EXPECT_EQ(frame_payload(kWrite, 100, kWrite, kWrite), 100U);
  EXPECT_EQ(frame_payload(kWrite, 500 * kKib, kWrite, kWrite), 4 * kKib);
  EXPECT_EQ(frame_payload(kWrite, 0, 10, kWrite), 0U);
}

}  // namespace
}  // namespace fleetadm::serve
