#include "core/proxy/hop/dial.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <memory>
#include <optional>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "kubeclient/base/host_port.h"

namespace fleetadm::proxy {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

/// Asio's own open() would leave the socket to processes that are started beside it.
boost::system::error_code open_private(tcp::socket& socket, const tcp& protocol) {
  const int descriptor = ::socket(protocol.family(), SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
  if (descriptor < 0) return {errno, boost::system::system_category()};
  boost::system::error_code error;
  socket.assign(protocol, descriptor, error);
  if (error) ::close(descriptor);
  return error;
}

class Dialing : public std::enable_shared_from_this<Dialing> {
 public:
  using Done = std::function<void(Result<tcp::socket>)>;

  Dialing(const asio::any_io_executor& executor, std::string host, std::string port, Done done)
      : host_(std::move(host)),
        port_(std::move(port)),
        socket_(executor),
        resolver_(executor),
        deadline_(executor),
        done_(std::move(done)) {}

  void start(std::chrono::milliseconds patience) {
    deadline_.expires_after(patience);
    deadline_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->finish(fail(Category::kTimeout, "nobody answers at " + join_host_port(self->host_, self->port_)));
    });
    boost::system::error_code no_address;
    const auto address = asio::ip::make_address(host_, no_address);
    const auto port = parse_port(port_);
    if (!no_address && port) {
      addresses_ = {tcp::endpoint(address, *port)};
      return asio::post(socket_.get_executor(), [self = shared_from_this()] { self->next(); });
    }
    resolver_.async_resolve(
        host_, port_,
        [self = shared_from_this()](const boost::system::error_code& error, const tcp::resolver::results_type& found) {
          if (error) {
            return self->finish(
                fail(Category::kUnavailable, "cannot find the address of \"" + self->host_ + "\": " + error.message()));
          }
          for (const auto& entry : found) self->addresses_.push_back(entry.endpoint());
          self->next();
        });
  }

 private:
  void next() {
    if (!done_) return;
    if (tried_ == addresses_.size()) {
      return finish(fail(Category::kUnavailable, "cannot connect to " + join_host_port(host_, port_) + ": " + last_.message()));
    }
    const tcp::endpoint address = addresses_[tried_++];
    boost::system::error_code ignored;
    socket_.close(ignored);
    last_ = open_private(socket_, address.protocol());
    if (last_) return next();
    socket_.async_connect(address, [self = shared_from_this()](const boost::system::error_code& error) {
      if (!self->done_) return;
      self->last_ = error;
      if (error) return self->next();
      self->finish(std::move(self->socket_));
    });
  }

  void finish(Result<tcp::socket> outcome) {
    if (!done_) return;
    const auto done = std::exchange(done_, nullptr);
    deadline_.cancel();
    resolver_.cancel();
    boost::system::error_code ignored;
    if (!outcome) socket_.close(ignored);
    done(std::move(outcome));
  }

  const std::string host_;
  const std::string port_;
  tcp::socket socket_;
  tcp::resolver resolver_;
  asio::steady_timer deadline_;
  Done done_;
  std::vector<tcp::endpoint> addresses_;
  std::size_t tried_ = 0;
  boost::system::error_code last_ = asio::error::host_not_found;
};

}  // namespace

void dial(const asio::any_io_executor& executor, const std::string& host, const std::string& port,
          std::chrono::milliseconds patience, std::function<void(Result<tcp::socket>)> done) {
  std::make_shared<Dialing>(executor, host, port, std::move(done))->start(patience);
}

}  // namespace fleetadm::proxy
