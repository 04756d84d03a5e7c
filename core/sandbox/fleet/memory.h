// What a burst of requests took goes back to the system: the heap keeps what is freed, for ever where nobody asks.
#pragma once

#include <cstddef>

namespace fleetadm::sandbox {

/// One thread.
class SpareMemory {
 public:
  static constexpr std::size_t kGrowth = std::size_t{32} * 1024 * 1024;

  /// Returns free heap pages where kGrowth more bytes are spare than could not be given back before. True where it did. Where the
  /// C library is not glibc, nothing happens.
  bool give_back();

 private:
  std::size_t rested_ = 0;  // bytes that were spare, and could not be given back
};

}  // namespace fleetadm::sandbox
