#include "core/proxy/konnectivity/server_dial.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <netinet/tcp.h>
#include <optional>
#include <sys/socket.h>
#include <utility>

#include "core/proxy/hop/proxy_dial.h"
#include "core/serve/http/tls_context.h"
#include "core/serve/http/tls_stream.h"

namespace fleetadm::konnectivity {
namespace {

namespace asio = boost::asio;

constexpr auto kTick = std::chrono::milliseconds(500);
constexpr int kSilentSeconds = 5;  // then the kernel asks whether the server is there, three times; it takes no pings of HTTP/2

void notice_silence(asio::ip::tcp::socket& socket) {
  boost::system::error_code ignored;  // without it, a server that is gone is noticed later
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const int seconds = kSilentSeconds;
  const int times = 3;
  for (const auto& [option, value] : {std::pair{TCP_KEEPIDLE, seconds}, {TCP_KEEPINTVL, seconds}, {TCP_KEEPCNT, times}}) {
    if (::setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof(value)) != 0) return;
  }
}

/// One dial, and then the connection's clock.
class ServerDial : public std::enable_shared_from_this<ServerDial> {
 public:
  ServerDial(const asio::any_io_executor& executor, ServerOptions options, Speak speak, std::function<void(const Error&)> failed,
             std::function<void(const std::shared_ptr<serve::Connection>&)> dialed)
      : executor_(executor),
        timer_(executor),
        options_(std::move(options)),
        speak_(std::move(speak)),
        failed_(std::move(failed)),
        dialed_(std::move(dialed)) {}

  void start() {
    auto tls = serve::make_client_tls({.ca = options_.ca, .certificate = options_.certificate, .http2 = true});
    if (!tls) return asio::post(executor_, [self = shared_from_this(), error = tls.error()] { self->give_up(error); });
    tls_ = std::move(*tls);
    proxy::dial_by(executor_, options_.proxy, options_.host, options_.port, options_.dial,
                   [self = shared_from_this()](Result<asio::ip::tcp::socket> socket) {
                     if (!socket) return self->give_up(socket.error().wrap("the konnectivity server"));
                     self->connect(std::move(*socket));
                   });
  }

 private:
  void connect(asio::ip::tcp::socket socket) {
    notice_silence(socket);
    const std::string& name = options_.server_name.empty() ? options_.host : options_.server_name;
    auto stream = serve::TlsStream::connect(socket.native_handle(), tls_->native_handle(), name);
    if (!stream) return give_up({.category = Category::kTls, .message = "cannot verify the name " + name});
    stream_ = stream.get();
    connection_ = std::make_shared<serve::Connection>(std::move(socket), std::move(stream), serve::HttpLimits{}, nullptr);
    const auto connection = connection_;
    if (const auto dialed = std::exchange(dialed_, nullptr)) dialed(connection);
    tick();
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
      failure_ = Error{.category = Category::kInvalid, .message = "what answers is no konnectivity server: it speaks no HTTP/2"};
      return nullptr;
    }
    failed_ = nullptr;
    return std::exchange(speak_, nullptr)(std::move(host));
  }

  void gone() {
    connection_ = nullptr;
    timer_.cancel();
    give_up(failure_.value_or(Error{.category = Category::kTls, .message = "the konnectivity server: " + stream_->failure()}));
  }

  void tick() {
    timer_.expires_after(kTick);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (error || !self->connection_) return;
      const auto connection = self->connection_;
      connection->tick(std::chrono::steady_clock::now());
      if (self->connection_) self->tick();
    });
  }

  void give_up(const Error& error) {
    speak_ = nullptr;
    dialed_ = nullptr;
    if (const auto failed = std::exchange(failed_, nullptr)) failed(error);
  }

  asio::any_io_executor executor_;
  asio::steady_timer timer_;
  const ServerOptions options_;
  Speak speak_;
  std::function<void(const Error&)> failed_;
  std::function<void(const std::shared_ptr<serve::Connection>&)> dialed_;
  std::shared_ptr<asio::ssl::context> tls_;
  std::shared_ptr<serve::Connection> connection_;
  const serve::TlsStream* stream_ = nullptr;  // the connection's
  std::optional<Error> failure_;
};

}  // namespace

void dial_server(const asio::any_io_executor& executor, const ServerOptions& options, Speak speak,
                 std::function<void(const Error&)> failed,
                 std::function<void(const std::shared_ptr<serve::Connection>&)> dialed) {
  std::make_shared<ServerDial>(executor, options, std::move(speak), std::move(failed), std::move(dialed))->start();
}

}  // namespace fleetadm::konnectivity
