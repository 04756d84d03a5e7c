#include "core/proxy/hop/proxy_dial.h"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <utility>

#include "core/proxy/hop/dial.h"
#include "core/proxy/hop/tls_relay.h"
#include "core/serve/http/tls_context.h"
#include "core/serve/http/tls_stream.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/host_port.h"

namespace fleetadm::proxy {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using Step = serve::SocketStream::Step;

constexpr std::size_t kLongestAnswer = std::size_t{16} * 1024;

/// Of the answer to CONNECT; 0 for what is none.
int status_of(std::string_view head) {
  constexpr std::size_t kCode = 9;  // behind "HTTP/1.x "
  if (head.size() < kCode + 3 || !head.starts_with("HTTP/1.") || head[kCode - 1] != ' ') return 0;
  int status = 0;
  for (const char c : head.substr(kCode, 3)) {
    if (!is_digit(c)) return 0;
    status = status * 10 + (c - '0');
  }
  return status;
}

class ProxyDialing : public std::enable_shared_from_this<ProxyDialing> {
 public:
  using Done = std::function<void(Result<tcp::socket>)>;

  ProxyDialing(const asio::any_io_executor& executor, kube::ForwardProxy proxy, const std::string& target, Done done)
      : executor_(executor), proxy_(std::move(proxy)), socket_(executor), deadline_(executor), done_(std::move(done)) {
    request_ = "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n";
    if (!proxy_.authorization.empty()) request_ += "Proxy-Authorization: " + proxy_.authorization + "\r\n";
    request_ += "\r\n";
  }

  void start(std::chrono::milliseconds patience) {
    deadline_.expires_after(patience);
    deadline_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->finish(self->failure(Category::kTimeout, "does not answer"));
    });
    dial(executor_, proxy_.host, proxy_.port, patience, [self = shared_from_this()](Result<tcp::socket> socket) {
      if (!self->done_) return;
      if (!socket) return self->finish(fail(socket.error().wrap("the proxy " + self->proxy_.authority())));
      self->socket_ = std::move(*socket);
      self->connected();
    });
  }

 private:
  void connected() {
    boost::system::error_code error;
    socket_.non_blocking(true, error);
    if (error) return finish(failure(Category::kUnavailable, "cannot be used: " + error.message()));
    if (!proxy_.tls) {
      stream_ = serve::make_plain_stream(socket_.native_handle());
      return step();
    }
    auto context = serve::make_client_tls({.ca = proxy_.ca, .certificate = {}});
    if (!context) return finish(fail(context.error().wrap("the proxy " + proxy_.authority())));
    context_ = std::move(*context);
    auto tls = serve::TlsStream::connect(socket_.native_handle(), context_->native_handle(), proxy_.host);
    if (!tls) return finish(failure(Category::kTls, "has a name that cannot be verified"));
    tls_ = tls.get();
    stream_ = std::move(tls);
    step();
  }

  /// As far as it goes without waiting.
  void step() {
    if (!done_) return;
    if (!greeted_) {
      const Step met = stream_->handshake();
      if (met == Step::kEnded)
        return finish(failure(Category::kTls, tls_ != nullptr ? "cannot be trusted: " + tls_->failure() : "is gone"));
      if (met != Step::kDone) return wait(met);
      greeted_ = true;
    }
    while (!asked_) {
      const auto moved = stream_->write(request_);
      request_.erase(0, moved.bytes);
      if (moved.step == Step::kEnded) return finish(failure(Category::kUnavailable, "closed the connection"));
      if (moved.step != Step::kDone) return wait(moved.step);
      asked_ = request_.empty();
    }
    while (true) {
      std::array<char, 4096> piece{};
      const auto moved = stream_->read(piece);
      answer_.append(piece.data(), moved.bytes);
      const auto end = answer_.find("\r\n\r\n");
      if (end != std::string::npos) return answered(end + 4);
      if (answer_.size() > kLongestAnswer) return finish(failure(Category::kUnavailable, "gave an answer without end"));
      if (moved.step == Step::kEnded) return finish(failure(Category::kUnavailable, "closed the connection"));
      if (moved.step != Step::kDone) return wait(moved.step);
    }
  }

  void wait(Step step) {
    socket_.async_wait(step == Step::kWaitsToWrite ? tcp::socket::wait_write : tcp::socket::wait_read,
                       [self = shared_from_this()](const boost::system::error_code&) { self->step(); });
  }

  void answered(std::size_t end) {
    const int status = status_of(answer_);
    if (status == 407) {
      return finish(failure(Category::kAuth, proxy_.authorization.empty() ? "wants credentials (407)"
                                                                          : "refuses the credentials of its URL (407)"));
    }
    if (status == 0) return finish(failure(Category::kUnavailable, "does not speak HTTP"));
    if (status < 200 || status > 299)
      return finish(failure(Category::kUnavailable, "does not connect: it answered " + std::to_string(status)));
    if (answer_.size() > end) return finish(failure(Category::kUnavailable, "says more than it was asked"));
    if (tls_ == nullptr) {
      stream_.reset();
      return finish(std::move(socket_));
    }
    finish(relay_tls(executor_, std::move(context_), std::move(stream_), std::move(socket_)));
  }

  tl::unexpected<Error> failure(Category category, const std::string& what) const {
    return fail(category, "the proxy " + proxy_.authority() + " " + what, "check proxy-url, HTTPS_PROXY and NO_PROXY");
  }

  void finish(Result<tcp::socket> outcome) {
    if (!done_) return;
    const auto done = std::exchange(done_, nullptr);
    deadline_.cancel();
    boost::system::error_code ignored;
    if (!outcome) socket_.close(ignored);
    done(std::move(outcome));
  }

  asio::any_io_executor executor_;
  const kube::ForwardProxy proxy_;
  std::shared_ptr<asio::ssl::context> context_;
  tcp::socket socket_;
  std::unique_ptr<serve::SocketStream> stream_;
  const serve::TlsStream* tls_ = nullptr;  // the stream
  asio::steady_timer deadline_;
  Done done_;
  std::string request_;  // what is left of it
  std::string answer_;
  bool greeted_ = false;
  bool asked_ = false;
};

}  // namespace

void dial_by(const asio::any_io_executor& executor, const std::optional<kube::ForwardProxy>& proxy, const std::string& host,
             const std::string& port, std::chrono::milliseconds patience, std::function<void(Result<tcp::socket>)> done) {
  if (!proxy) return dial(executor, host, port, patience, std::move(done));
  std::make_shared<ProxyDialing>(executor, *proxy, join_host_port(host, port), std::move(done))->start(patience);
}

}  // namespace fleetadm::proxy
