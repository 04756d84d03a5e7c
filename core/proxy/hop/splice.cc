#include "core/proxy/hop/splice.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <cstddef>
#include <memory>
#include <utility>

namespace fleetadm::proxy {
namespace {

using boost::asio::ip::tcp;

/// Kept by what it waits for.
class Splice : public std::enable_shared_from_this<Splice> {
 public:
  Splice(tcp::socket one, tcp::socket other) : ends_{std::move(one), std::move(other)} {}

  void pass(std::size_t from) {
    ends_[from].async_read_some(boost::asio::buffer(buffers_[from]),
                                [self = shared_from_this(), from](const boost::system::error_code& error, std::size_t size) {
                                  if (error == boost::asio::error::eof) return self->end(from);
                                  if (error) return self->close();
                                  boost::asio::async_write(self->ends_[1 - from],
                                                           boost::asio::buffer(self->buffers_[from].data(), size),
                                                           [self, from](const boost::system::error_code& failed, std::size_t) {
                                                             if (failed) return self->close();
                                                             self->pass(from);
                                                           });
                                });
  }

 private:
  void end(std::size_t from) {
    boost::system::error_code ignored;
    ends_[1 - from].shutdown(tcp::socket::shutdown_send, ignored);
    if (std::exchange(one_has_ended_, true)) close();
  }
  void close() {
    boost::system::error_code ignored;
    for (tcp::socket& socket : ends_) socket.close(ignored);
  }

  std::array<tcp::socket, 2> ends_;
  std::array<std::array<char, 32 * 1024>, 2> buffers_{};
  bool one_has_ended_ = false;
};

}  // namespace

void splice(tcp::socket one, tcp::socket other) {
  const auto both = std::make_shared<Splice>(std::move(one), std::move(other));
  both->pass(0);
  both->pass(1);
}

}  // namespace fleetadm::proxy
