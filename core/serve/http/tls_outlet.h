// What TLS writes to a socket. OpenSSL hands over record by record, 16 KiB each; those of one write go out with one call.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fleetadm::serve {

/// I/O thread only. It holds nothing while all is sent.
class TlsOutlet {
 public:
  enum class Sent { kAll, kSome, kFailed };  // kSome: the socket takes no more for now

  explicit TlsOutlet(int socket) : socket_(socket) {}

  /// From here on records are held, up to a few, until flush().
  void gather();
  Sent flush();
  /// Of a record: as send(2), but all of it where records are held.
  std::ptrdiff_t put(std::string_view record);

 private:
  std::size_t left() const { return held_.size() - sent_; }

  const int socket_;
  bool gathering_ = false;
  std::string held_;
  std::size_t sent_ = 0;  // of what is held
};

}  // namespace fleetadm::serve
