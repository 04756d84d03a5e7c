// What an HTTP/2 session sends. Bodies go straight to where they are sent from: nghttp2 is told their sizes alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nghttp2/nghttp2.h>
#include <string>
#include <sys/types.h>

#include "core/serve/http/http2_frames.h"
#include "kubeclient/http2/http2_memory.h"

namespace fleetadm::serve {

/// I/O thread only. Outlives the session, whose memory it has.
class Http2Output {
 public:
  kube::Http2Memory& memory() { return memory_; }

  /// Appends what the session has to send, until there are `most` bytes. Less than 0: nghttp2's error, and the session is over.
  ssize_t write(nghttp2_session* session, std::string& into, std::size_t most) {
    into_ = &into;
    most_ = most;
    while (into.size() < most) {
      const std::uint8_t* data = nullptr;
      const auto size = nghttp2_session_mem_send(session, &data);
      if (size <= 0) return size;
      memory_.used();
      into.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    }
    return 0;
  }

  // A frame of a body, in the order in which nghttp2 asks within write():
  /// How large it may be.
  ssize_t size_of_frame(std::uint32_t peer_takes) {
    memory_.choosing_frame();
    return most_in_frame(peer_takes);
  }
  /// That is known, and what the frame is for is asked.
  void frame_chosen() { memory_.frame_chosen(); }
  /// How many of the `left` bytes of the body it has, where it may have `size`.
  std::size_t payload(std::size_t size, std::size_t left) const { return frame_payload(size, left, into_->size(), most_); }
  /// Its head is there; the payload is to be appended to what this answers.
  std::string& begin_frame(const std::uint8_t* head) {
    memory_.used();
    return into_->append(reinterpret_cast<const char*>(head), kHttp2FrameHead);
  }
  /// What nghttp2 is answered then: a pause ends write() for now.
  int end_frame() const { return into_->size() < most_ ? 0 : NGHTTP2_ERR_PAUSE; }

 private:
  kube::Http2Memory memory_;
  std::string* into_ = nullptr;  // during write()
  std::size_t most_ = 0;
};

}  // namespace fleetadm::serve
