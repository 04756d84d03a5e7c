// Room for what is on its way, kept from one use to the next: memory of this size costs page faults each time it is taken.
#pragma once

#include <cstddef>
#include <string>

namespace fleetadm::serve {

inline constexpr std::size_t kWrittenAtOnce = std::size_t{64} * 1024;               // that is written at once
inline constexpr std::size_t kSpareRoom = kWrittenAtOnce + std::size_t{16} * 1024;  // and what went beyond it

/// Empty, with room for kSpareRoom bytes. Most connections of a thread are idle: it has few for all of them.
std::string take_spare_bytes();
/// Keeps it, where it is of that size and the thread has not two already; else it is freed.
void keep_spare_bytes(std::string bytes);

}  // namespace fleetadm::serve
