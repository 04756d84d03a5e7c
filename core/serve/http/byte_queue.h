// Bytes on their way, first in, first out, in blocks: what was read leaves without moving what was not, and no block is so large
// that the allocator maps and unmaps it each time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fleetadm::serve {

/// One thread at a time. Holds no memory to speak of while it is empty.
class ByteQueue {
 public:
  static constexpr std::size_t kBlock = std::size_t{64} * 1024;
  static constexpr std::size_t kPiece = std::size_t{16} * 1024;  // what comes at once, as a rule: a record of TLS

  std::size_t size() const { return sealed_ + (blocks_.empty() ? 0 : blocks_.back().size()) - begin_; }
  bool empty() const { return size() == 0; }

  void append(std::string_view bytes);
  /// The last block, for those that write at its end: up to kPiece bytes, of which about so many are to come now.
  std::string& tail(std::size_t coming);
  /// Moves up to so many bytes, of one block, to the end of `into`; how many.
  std::size_t take(std::string& into, std::size_t most);
  void clear();

 private:
  std::vector<std::string> blocks_;
  std::size_t begin_ = 0;   // of what was not read yet, in the first block
  std::size_t sealed_ = 0;  // bytes of all blocks but the last
};

}  // namespace fleetadm::serve
