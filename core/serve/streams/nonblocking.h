// Reads and writes of descriptors that never wait.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fleetadm::serve {

/// How a read or write that does not wait ended: kLater: nothing now; kGone: nothing ever (end, broken pipe, error).
enum class FdResult { kSome, kLater, kGone };
/// Appends up to `most` bytes.
FdResult read_some(int fd, std::string& into, std::size_t most);
/// `taken`: how many of the bytes. A reader that is gone costs no signal.
FdResult write_some(int fd, std::string_view bytes, std::size_t& taken);
/// The descriptor does not wait from now on.
bool set_nonblocking(int fd);

}  // namespace fleetadm::serve
