#include "core/proxy/tunnel/tunnel_link.h"

#include <algorithm>
#include <utility>

#include "core/proxy/hop/proxy_dial.h"
#include "core/serve/http/http2_frames.h"
#include "core/serve/http/protocol.h"
#include "core/serve/http/tls_context.h"
#include "kubeclient/base/log.h"

namespace fleetadm::proxy {
namespace {

using Steady = std::chrono::steady_clock;

constexpr auto kLong = std::chrono::hours(24 * 365);  // pings say when an idle tunnel is over
constexpr auto kSteady = std::chrono::seconds(10);    // a tunnel that has lasted so long is worth the first delay again
constexpr std::size_t kMostLines = 4;                 // that were replaced, and have streams that do not end

serve::HttpLimits limits_of(const TunnelLimits& limits) {
  serve::HttpLimits out;
  out.window = limits.window;
  out.header = limits.header;
  out.streams = limits.streams;
  out.idle = kLong;
  return out;
}

}  // namespace

/// What is served on a line, and what it says of the line.
class TunnelLink::Served final : public serve::Protocol {
 public:
  Served(std::shared_ptr<serve::Protocol> inner, std::weak_ptr<TunnelLink> link, std::shared_ptr<Line> line)
      : inner_(std::move(inner)), link_(std::move(link)), line_(std::move(line)) {}

  bool feed(std::string_view bytes) override {
    const auto link = link_.lock();
    if (link && !line_->open) link->opened(line_);
    return inner_->feed(bytes);
  }
  bool wants_input() const override { return inner_->wants_input(); }
  void output(std::string& into, std::size_t most) override { inner_->output(into, most); }
  bool finished() const override { return inner_->finished(); }
  bool busy() const override { return inner_->busy(); }
  bool receiving() const override { return inner_->receiving(); }
  std::size_t streams() const override { return inner_->streams(); }
  bool tick(std::chrono::steady_clock::time_point now) override {
    if (inner_->tick(now)) return true;
    line_->failure = Error{.category = Category::kTimeout, .message = "the gateway does not answer any more"};
    return false;
  }
  void drain() override { inner_->drain(); }
  void gone() override { inner_->gone(); }

 private:
  std::shared_ptr<serve::Protocol> inner_;
  std::weak_ptr<TunnelLink> link_;
  std::shared_ptr<Line> line_;
};

TunnelLink::TunnelLink(boost::asio::any_io_executor executor, HostPort address,
                       std::shared_ptr<const TunnelClientOptions> options, std::shared_ptr<serve::MemoryBudget> room)
    : executor_(std::move(executor)),
      address_(std::move(address)),
      options_(std::move(options)),
      room_(std::move(room)),
      delay_(options_->first_delay),
      random_(std::random_device()()),
      timer_(executor_) {
  state_.gateway = join_host_port(address_.host, address_.port);
  state_.since = Clock::system()->now();
}

TunnelState TunnelLink::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void TunnelLink::note(bool connected, const std::string& error) {
  const std::lock_guard lock(mutex_);
  if (state_.connected != connected) state_.since = Clock::system()->now();
  state_.connected = connected;
  state_.error = error;
  state_.failures = connected ? 0 : state_.failures + (error.empty() ? 0 : 1);
}

bool TunnelLink::busy() const {
  return std::ranges::any_of(lines_, [](const auto& line) { return !line->open || line->connection->busy(); });
}

/// A line is on its way.
bool TunnelLink::connecting() const {
  return std::ranges::any_of(lines_, [](const auto& line) { return !line->open && !line->leaving; });
}

void TunnelLink::start(std::string ca) {
  ca_ = std::move(ca);
  connect();
}

void TunnelLink::use_ca(std::string ca) {
  if (ca == ca_) return;
  ca_ = std::move(ca);
  if (!stopped_) connect();
}

void TunnelLink::connect() {
  timer_.cancel();
  next_try_.reset();
  certificate_checked_ = Steady::now();
  const auto line = std::make_shared<Line>();
  lines_.push_back(line);
  auto certificate = options_->certificate();
  if (!certificate) return failed(line, certificate.error().wrap("the agent's certificate for the hub"));
  certificate_ = certificate->certificate;
  auto tls = serve::make_client_tls({.ca = ca_, .certificate = std::move(*certificate), .http2 = true, .only_tls13 = true});
  if (!tls) return failed(line, tls.error());
  Result<std::optional<kube::ForwardProxy>> proxy = std::nullopt;
  if (options_->proxy) proxy = options_->proxy(address_.host);
  if (!proxy) return failed(line, proxy.error());
  dial_by(executor_, *proxy, address_.host, address_.port, options_->dial,
          [self = weak_from_this(), line, tls = std::move(*tls)](Result<boost::asio::ip::tcp::socket> socket) {
            const auto here = self.lock();
            if (!here || here->stopped_) {
              if (here) here->lost(line);
              return;
            }
            if (!socket) return here->failed(line, socket.error());
            here->dialed(line, tls, std::move(*socket));
          });
}

void TunnelLink::dialed(const std::shared_ptr<Line>& line, std::shared_ptr<boost::asio::ssl::context> tls,
                        boost::asio::ip::tcp::socket socket) {
  auto stream = serve::TlsStream::connect(socket.native_handle(), tls->native_handle(), address_.host);
  if (!stream) return failed(line, Error{.category = Category::kTls, .message = "cannot verify the name " + address_.host});
  line->tls = stream.get();
  line->connection =
      std::make_shared<serve::Connection>(std::move(socket), std::move(stream), limits_of(options_->limits), room_);
  line->connection->start(
      [self = weak_from_this(), line](serve::ProtocolHost host, const serve::SocketStream& spoken) {
        const auto here = self.lock();
        return here ? here->serve_on(line, std::move(host), spoken) : nullptr;
      },
      [self = weak_from_this(), line](const std::shared_ptr<serve::Connection>&) {
        if (const auto here = self.lock()) here->lost(line);
      });
}

std::shared_ptr<serve::Protocol> TunnelLink::serve_on(const std::shared_ptr<Line>& line, serve::ProtocolHost host,
                                                      const serve::SocketStream& stream) {
  if (!stream.http2()) {
    line->failure = Error{.category = Category::kUnsupported, .message = "what answers there is no gateway: it speaks no HTTP/2"};
    return nullptr;
  }
  host.handle = options_->handle;
  host.streams_body = [](const serve::HttpRequest&) { return true; };
  host.keep_alive = options_->limits.keep_alive;
  host.frame = serve::kHttp2LargeFrame;
  host.told_to_leave = [self = weak_from_this(), weak = std::weak_ptr(line)] {
    const auto here = self.lock();
    const auto which = weak.lock();
    if (here && which) here->told_to_leave(which);
  };
  return std::make_shared<Served>(make_http2(std::move(host)), weak_from_this(), line);
}

/// The first line that the gateway takes replaces all others.
void TunnelLink::opened(const std::shared_ptr<Line>& line) {
  line->open = true;
  line->opened = Steady::now();
  log::info(1, "tunnel", "connected to the gateway at " + state_.gateway);
  note(true, {});
  std::vector<std::shared_ptr<Line>> others;
  for (const auto& other : lines_) {
    if (other != line && other->open) others.push_back(other);
  }
  for (const auto& other : others) {
    other->leaving = true;
    other->connection->drain();
  }
  if (others.size() >= kMostLines) others.front()->connection->close();
}

/// The gateway asks nothing new on it. What runs goes on beside the next one.
void TunnelLink::told_to_leave(const std::shared_ptr<Line>& line) {
  if (std::exchange(line->leaving, true) || stopped_ || connecting() || next_try_) return;
  note(false, "the gateway is going away");
  retry();
}

void TunnelLink::failed(const std::shared_ptr<Line>& line, const Error& error) {
  line->failure = error;
  lost(line);
}

void TunnelLink::lost(const std::shared_ptr<Line>& line) {
  std::erase(lines_, line);
  if (stopped_) return;
  const bool is_last =
      std::ranges::none_of(lines_, [](const auto& other) { return !other->leaving; });  // no other takes its place
  if (line->leaving && !is_last) return;
  if (next_try_) return;
  std::string why = "the gateway closed the connection";
  if (line->failure) {
    why = line->failure->message;
  } else if (!line->open) {
    why = line->tls != nullptr && SSL_is_init_finished(line->tls->ssl()) != 1
              ? line->tls->failure()
              : "the gateway closed the connection: it may not take the agent's certificate";
  }
  if (!is_last) {  // a new line could not be made; the old one goes on
    log::warn("tunnel", "no new connection to the gateway at " + state_.gateway + ": " + why);
    return retry();
  }
  if (line->open || state_.failures == 0) {
    log::warn("tunnel",
              (line->open ? "lost the gateway at " : "cannot connect to the gateway at ") + state_.gateway + ": " + why);
  }
  if (line->open && Steady::now() - line->opened >= kSteady) delay_ = options_->first_delay;
  note(false, why);
  retry();
}

void TunnelLink::retry() {
  // Between half and all of the delay: those that were cut together do not come together.
  const auto half = delay_.count() / 2;
  const auto wait = std::chrono::milliseconds(
      half + std::uniform_int_distribution<std::int64_t>(0, std::max<std::int64_t>(delay_.count() - half, 0))(random_));
  delay_ = std::min(delay_ * 2, options_->longest_delay);
  next_try_ = Steady::now() + wait;
  timer_.expires_after(wait);
  timer_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
    const auto here = self.lock();
    if (!error && here && !here->stopped_ && here->next_try_) here->connect();
  });
}

void TunnelLink::check_certificate(SteadyTime now) {
  if (stopped_ || connecting() || next_try_ || now - certificate_checked_ < options_->certificate_check) return;
  certificate_checked_ = now;
  const auto current = options_->certificate();
  if (current && current->certificate != certificate_) connect();
}

void TunnelLink::tick(SteadyTime now) {
  const auto lines = lines_;
  std::size_t streams = 0;
  for (const auto& line : lines) {
    if (!line->connection) continue;
    line->connection->tick(now);
    streams += line->connection->streams();
    if (line->open && !line->leaving && now - line->opened >= kSteady) delay_ = options_->first_delay;
  }
  if (drained_by_ && now >= *drained_by_) close();
  check_certificate(now);
  const std::lock_guard lock(mutex_);
  state_.streams = streams;
}

void TunnelLink::drain(SteadyTime until) {
  stopped_ = true;
  drained_by_ = until;
  timer_.cancel();
  const auto lines = lines_;
  for (const auto& line : lines) {
    line->leaving = true;
    if (line->connection) line->connection->drain();
  }
}

void TunnelLink::close() {
  stopped_ = true;
  timer_.cancel();
  const auto lines = std::exchange(lines_, {});
  for (const auto& line : lines) {
    if (line->connection) line->connection->close();
  }
}

}  // namespace fleetadm::proxy
