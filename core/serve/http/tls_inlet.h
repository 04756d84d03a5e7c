// What TLS reads from a socket. OpenSSL asks for the head of a record, then for the rest of it; one call reads what has come of
// many.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace fleetadm::serve {

/// I/O thread only. It holds no memory while nothing is read ahead. (OpenSSL's own reading ahead moves all that it holds with
/// each record.)
class TlsInlet {
 public:
  explicit TlsInlet(int socket) : socket_(socket) {}

  /// As recv(2) on a socket that does not block. Where the last call found less than it had room for, nothing is asked again
  /// before the caller has waited for more: then this says EAGAIN once.
  std::ptrdiff_t get(std::span<char> into);
  /// More has been read than was asked for.
  bool is_ahead() const { return begin_ < end_; }

 private:
  void give_back();

  const int socket_;
  std::unique_ptr<char[]> ahead_;  // null: nothing
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool exhausted_ = false;
};

}  // namespace fleetadm::serve
