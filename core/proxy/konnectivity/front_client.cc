#include "core/proxy/konnectivity/front_client.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <netinet/tcp.h>
#include <optional>
#include <sys/socket.h>
#include <utility>

#include "core/proxy/hop/dial.h"
#include "core/proxy/konnectivity/front_stream.h"
#include "core/serve/http/connection.h"
#include "core/serve/http/tls_context.h"
#include "core/serve/http/tls_stream.h"
#include "kubeclient/base/host_port.h"

namespace fleetadm::konnectivity {
namespace {

namespace asio = boost::asio;
using Steady = std::chrono::steady_clock;

constexpr auto kTick = std::chrono::milliseconds(500);
constexpr auto kHandshake = std::chrono::seconds(10);
constexpr int kSilentSeconds =
    5;  // then the kernel asks whether the front end is there, three times; it takes no pings of HTTP/2

void notice_silence(asio::ip::tcp::socket& socket) {
  boost::system::error_code ignored;  // without it, a front end that is gone is noticed later
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const int seconds = kSilentSeconds;
  const int times = 3;
  for (const auto& [option, value] : {std::pair{TCP_KEEPIDLE, seconds}, {TCP_KEEPINTVL, seconds}, {TCP_KEEPCNT, times}}) {
    if (::setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof(value)) != 0) return;
  }
}

/// One dial, and then the connection's clock.
class FrontDial : public std::enable_shared_from_this<FrontDial> {
 public:
  FrontDial(const asio::any_io_executor& executor, FrontOptions options, std::string target, FrontStream::Done done)
      : executor_(executor), timer_(executor), options_(std::move(options)), target_(std::move(target)), done_(std::move(done)) {}

  void start() {
    auto tls = serve::make_client_tls({.ca = options_.ca, .certificate = options_.certificate, .http2 = true});
    if (!tls) return asio::post(executor_, [self = shared_from_this(), error = tls.error()] { self->finish(fail(error)); });
    tls_ = std::move(*tls);
    proxy::dial(executor_, options_.host, options_.port, options_.dial,
                [self = shared_from_this()](Result<asio::ip::tcp::socket> socket) {
                  if (!socket) return self->finish(fail(socket.error().wrap("the konnectivity front end")));
                  self->connect(std::move(*socket));
                });
  }

 private:
  void connect(asio::ip::tcp::socket socket) {
    notice_silence(socket);
    const std::string& name = options_.server_name.empty() ? options_.host : options_.server_name;
    auto stream = serve::TlsStream::connect(socket.native_handle(), tls_->native_handle(), name);
    if (!stream) return finish(fail(Category::kTls, "cannot verify the name " + name));
    stream_ = stream.get();
    deadline_ = Steady::now() + options_.target;
    serve::HttpLimits limits;
    limits.handshake = std::min(kHandshake, std::chrono::ceil<std::chrono::seconds>(options_.target));
    connection_ = std::make_shared<serve::Connection>(std::move(socket), std::move(stream), limits, nullptr);
    const auto connection = connection_;
    tick();
    // Only the timer keeps this, so that it goes with the executor.
    // Only the timer keeps this, so that it goes with the executor.
    connection->start(
        [weak = weak_from_this()](serve::ProtocolHost host, const serve::SocketStream& spoken) {
          const auto self = weak.lock();
          return self ? self->speak(std::move(host), spoken) : nullptr;
        },
        [weak = weak_from_this()](const std::shared_ptr<serve::Connection>&) {
          if (const auto self = weak.lock()) self->gone();
        });
  }

  std::shared_ptr<serve::Protocol> speak(serve::ProtocolHost host, const serve::SocketStream& spoken) {
    if (!spoken.http2()) {
      failure_ = Error{.category = Category::kInvalid, .message = "what answers at the konnectivity front end speaks no HTTP/2"};
      return nullptr;
    }
    shook_hands_ = true;
    auto done = [weak = weak_from_this()](Result<asio::ip::tcp::socket> outcome) {
      const auto self = weak.lock();
      if (!self) return;
      if (!outcome && self->failure_) outcome = fail(*self->failure_);
      self->finish(std::move(outcome));
    };
    return std::make_shared<FrontStream>(std::move(host), executor_, join_host_port(options_.host, options_.port), target_,
                                         std::move(done));
  }

  void gone() {
    if (!shook_hands_ && !failure_) {
      failure_ = Error{.category = Category::kTls, .message = "the konnectivity front end: " + stream_->failure()};
    }
    connection_ = nullptr;
    timer_.cancel();
    if (failure_) finish(fail(*failure_));
  }

  void tick() {
    timer_.expires_after(kTick);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (error || !self->connection_) return;
      const auto now = Steady::now();
      const auto connection = self->connection_;
      if (self->done_ && now >= self->deadline_) {
        self->failure_ = Error{.category = Category::kTimeout,
                               .message = "the konnectivity front end did not connect to " + self->target_ + " in time"};
        return connection->close();
      }
      connection->tick(now);
      if (self->connection_) self->tick();
    });
  }

  void finish(Result<asio::ip::tcp::socket> outcome) {
    if (const auto done = std::exchange(done_, nullptr)) done(std::move(outcome));
  }

  asio::any_io_executor executor_;
  asio::steady_timer timer_;
  const FrontOptions options_;
  const std::string target_;
  FrontStream::Done done_;
  std::shared_ptr<asio::ssl::context> tls_;
  std::shared_ptr<serve::Connection> connection_;
  const serve::TlsStream* stream_ = nullptr;  // the connection's
  Steady::time_point deadline_;
  bool shook_hands_ = false;
  std::optional<Error> failure_;
};

}  // namespace

void dial_through_front(const asio::any_io_executor& executor, const FrontOptions& options, const std::string& target,
                        std::function<void(Result<asio::ip::tcp::socket>)> done) {
  std::make_shared<FrontDial>(executor, options, target, std::move(done))->start();
}

}  // namespace fleetadm::konnectivity
