// How large the frames are in which an HTTP/2 session sends bodies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace fleetadm::serve {

constexpr std::size_t kHttp2FrameHead = 9;                          // bytes before a frame's payload
constexpr std::size_t kHttp2LargeFrame = std::size_t{64} * 1024;    // of a tunnel, on which much is sent
constexpr std::size_t kHttp2LittleOfFrame = std::size_t{4} * 1024;  // that is not worth a frame, or a write, of its own

/// As much as the peer takes: of one body after the other, so that whoever gets them has much of each at once.
inline ssize_t most_in_frame(std::uint32_t peer_takes) {
  return static_cast<ssize_t>(std::min<std::size_t>(peer_takes, kHttp2LargeFrame));
}

/// Of the `left` bytes of a body, as many as go into a frame of up to `size`, with which a write of `most` bytes, of which there
/// are `written`, is full.
inline std::size_t frame_payload(std::size_t size, std::size_t left, std::size_t written, std::size_t most) {
  const auto count = std::min(size, left);
  const auto used = written + kHttp2FrameHead;
  const auto room = most > used ? most - used : 0;
  if (left < room + kHttp2LittleOfFrame) return count;
  return std::min(count, std::max(room, kHttp2LittleOfFrame));
}

}  // namespace fleetadm::serve
