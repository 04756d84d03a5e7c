// The memory of one HTTP/2 session. nghttp2 takes 16 KiB with each for the frame that is being sent, as much as the frame has
// where the peer takes larger ones, 4 KiB for a table of streams, and twice 1 KiB for headers sent before, of which our sessions
// keep none. An idle connection has no use for them: their pages go back to the system until then, or are never touched.
#pragma once

#include <array>
#include <cstddef>
#include <nghttp2/nghttp2.h>

namespace fleetadm::kube {

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
  /// nghttp2 is told how large the next frame may be, and may take memory for it; until frame_chosen().
  void choosing_frame() { choosing_ = true; }
  void frame_chosen() { choosing_ = false; }
  /// Something is about to be sent.
  void used() { idle_ = false; }
  /// Nothing was since give_back().
  bool idle() const { return idle_; }
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
  Pages* frame_at(const void* block);
  /// Of a block among the tables; 0: it is not there.
  std::size_t size_in_tables(const void* block) const;
  char* tables();

  nghttp2_mem allocator_;
  std::array<Pages, 2> buffers_;  // of the frame: a larger one is taken before the other is released
  Pages tables_;                  // of streams, then the rings of headers
  bool has_table_ = false;
  std::size_t rings_ = 0;
  bool making_ = true;
  bool choosing_ = false;
  bool idle_ = true;
};

}  // namespace fleetadm::kube
