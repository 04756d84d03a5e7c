// The memory of one HTTP/2 session. nghttp2 takes 16 KiB with each for the frame that is being sent, and 4 KiB for a table of
// streams, which an idle connection has no use for: their pages go back to the system until then.
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
  /// The session is made: what it takes from now on is neither.
  void made() { making_ = false; }
  /// Something is about to be sent.
  void used() { idle_ = false; }
  /// The session has no streams, and had nothing more to send when it was last asked.
  void give_back();

 private:
  /// Pages of their own; null where they cannot be had, or before they are taken.
  struct Pages {
    void* at = nullptr;
    std::size_t size = 0;

    bool map(std::size_t bytes);
    void unmap();
    /// They read as zeros from then on.
    void drop() const;
  };

  void* take(std::size_t size);
  void* take_zeros(std::size_t count, std::size_t size);
  void* move(void* block, std::size_t size);
  void release(void* block);

  nghttp2_mem allocator_;
  Pages buffer_;  // of the frame
  Pages table_;   // of streams
  bool making_ = true;
  bool idle_ = true;
};

}  // namespace fleetadm::serve
