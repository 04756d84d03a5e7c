#include <cerrno>
#include <sys/socket.h>

#include "core/serve/http/socket_stream.h"

namespace fleetadm::serve {
namespace {

class PlainStream final : public SocketStream {
 public:
  explicit PlainStream(int socket) : socket_(socket) {}

  Step handshake() override { return Step::kDone; }
  Moved read(std::span<char> into) override {
    const auto got = ::recv(socket_, into.data(), into.size(), MSG_DONTWAIT);
    if (got == 0) return {};
    return moved(got, Step::kWaitsToRead);
  }
  Moved write(std::string_view bytes) override {
    return moved(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT), Step::kWaitsToWrite);
  }
  bool http2() const override { return false; }
  Peer peer() const override { return {}; }

 private:
  static Moved moved(ssize_t bytes, Step otherwise) {
    if (bytes >= 0) return {Step::kDone, static_cast<std::size_t>(bytes)};
    return {errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? otherwise : Step::kEnded, 0};
  }

  int socket_;
};

}  // namespace

std::unique_ptr<SocketStream> make_plain_stream(int socket) { return std::make_unique<PlainStream>(socket); }

}  // namespace fleetadm::serve
