#include "core/proxy/hop/local_pipe.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace fleetadm::proxy {

namespace asio = boost::asio;

Result<LocalPipe::Ends> LocalPipe::make(const asio::any_io_executor& executor, Events events) {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail(Category::kUnavailable, std::string("cannot make a local connection: ") + std::strerror(errno));
  auto pipe = std::make_shared<LocalPipe>(executor);
  asio::ip::tcp::socket other(executor);
  boost::system::error_code error;
  pipe->socket_.assign(asio::local::stream_protocol(), ends[0], error);
  if (error) ::close(ends[0]);
  boost::system::error_code other_error;
  other.assign(asio::ip::tcp::v4(), ends[1], other_error);
  if (other_error) ::close(ends[1]);
  if (!error) error = other_error;
  if (!error) pipe->socket_.non_blocking(true, error);
  if (!error) other.non_blocking(true, error);
  if (error) return fail(Category::kUnavailable, "cannot make a local connection: " + error.message());
  pipe->events_ = std::move(events);
  return Ends{.pipe = std::move(pipe), .other = std::move(other)};
}

void LocalPipe::await() {
  if (reading_ || finishing_ || closed_) return;
  reading_ = true;
  socket_.async_read_some(asio::buffer(input_),
                          [self = shared_from_this()](const boost::system::error_code& error, std::size_t size) {
                            self->reading_ = false;
                            if (self->closed_ || self->finishing_) return;
                            if (error) return self->over();
                            const auto read = self->events_.read;
                            read({self->input_.data(), size});
                          });
}

void LocalPipe::write(std::string_view bytes) {
  if (closed_) return;
  held_ += bytes;
  if (draining_) return;
  draining_ = true;
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->drain(); });
}

void LocalPipe::drain() {
  const std::size_t before = begin_;
  while (!closed_ && held() > 0) {
    boost::system::error_code error;
    const std::size_t size = socket_.write_some(asio::buffer(held_.data() + begin_, held()), error);
    begin_ += size;
    if (error == asio::error::would_block || error == asio::error::try_again) break;
    if (error) return over();
  }
  if (closed_) return;
  const bool moved = begin_ > before;
  if (held() == 0) {
    held_ = {};
    begin_ = 0;
    draining_ = false;
    if (finishing_) {
      closed_ = true;
      boost::system::error_code ignored;
      socket_.close(ignored);
      return;
    }
  } else {
    if (begin_ > sizeof(input_)) held_.erase(0, std::exchange(begin_, 0));
    socket_.async_wait(asio::local::stream_protocol::socket::wait_write,
                       [self = shared_from_this()](const boost::system::error_code&) { self->drain(); });
  }
  const auto taken = events_.taken;
  if (moved && taken) taken();
}

void LocalPipe::finish() {
  if (closed_ || std::exchange(finishing_, true)) return;
  events_ = {};
  if (draining_) return;
  draining_ = true;
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->drain(); });
}

void LocalPipe::over() {
  if (std::exchange(closed_, true)) return;
  draining_ = false;
  held_ = {};
  begin_ = 0;
  boost::system::error_code ignored;
  socket_.close(ignored);
  const auto closed = std::exchange(events_, {}).closed;
  if (closed) closed();
}

}  // namespace fleetadm::proxy
