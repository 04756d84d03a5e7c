// The memory of one HTTP/2 session. nghttp2 takes 16 KiB with each for the frame that is being sent, which an idle connection has
// no use for: its pages go back to the system until then.
#pragma once

#include <cstddef>
#include <nghttp2/nghttp2.h>

namespace fleetadm::serve {

/// I/O thread only. Outlives the session, and stays where it is.
class Http2Memory {
 public:
  Http2Memory();
  ~Http2Memory();
  Http2Memory(const Http2Memory&) = delete;
  Http2Memory& operator=(const Http2Memory&) = delete;

  /// For the making of the session.
  nghttp2_mem* allocator() { return &allocator_; }
  /// The session is made: what it takes from now on is not that buffer.
  void made() { making_ = false; }
  /// Something is about to be sent.
  void used() { idle_ = false; }
  /// The session had nothing more to send when it was last asked.
  void give_back();

 private:
  void* take(std::size_t size);
  void release(void* block);

  nghttp2_mem allocator_;
  void* buffer_ = nullptr;  // pages of its own; null where they cannot be had, or before they are taken
  std::size_t size_ = 0;
  bool making_ = true;
  bool idle_ = true;
};

}  // namespace fleetadm::serve
