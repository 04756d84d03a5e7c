#include "core/serve/http/server.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <fcntl.h>
#include <mutex>
#include <set>

#include "core/serve/http/connection.h"
#include "core/serve/http/runtime.h"
#include "core/serve/http/tls_context.h"
#include "core/serve/http/tls_stream.h"
#include "kubeclient/base/host_port.h"

namespace fleetadm::serve {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

constexpr auto kTick = std::chrono::milliseconds(500);

/// Asio does not: processes that are started beside the server must not hold its sockets.
void close_on_exec(int socket) { ::fcntl(socket, F_SETFD, FD_CLOEXEC); }

void reset_socket(tcp::socket& socket) {
  boost::system::error_code ignored;
  socket.set_option(asio::socket_base::linger(true, 0), ignored);
  socket.close(ignored);
}

}  // namespace

/// Lives on the I/O thread; connections share it.
struct HttpListener::Inner : std::enable_shared_from_this<HttpListener::Inner> {
  Inner(std::shared_ptr<HttpRuntime::Inner> shared, const ListenOptions& options)
      : runtime(std::move(shared)),
        acceptor(runtime->context),
        timer(runtime->context),
        encrypted(options.tls),
        evicts(options.evicts),
        only_tls13(options.only_tls13),
        client_ca(options.client_ca),
        judged_at(options.now),
        limits(options.limits),
        streams_body(options.streams_body),
        room(std::make_shared<MemoryBudget>(options.limits.bodies)) {}
  std::shared_ptr<HttpRuntime::Inner> runtime;
  std::shared_ptr<asio::ssl::context> tls;
  tcp::acceptor acceptor;
  asio::steady_timer timer;
  bool encrypted;
  bool evicts;
  const bool only_tls13;
  std::mutex client_ca_mutex;
  std::string client_ca;
  std::function<std::time_t()> judged_at;
  HttpLimits limits;
  std::function<bool(const HttpRequest&)> streams_body;
  std::shared_ptr<MemoryBudget> room;
  Network network = Network::kWhole;
  std::vector<tcp::socket> held;                            // taken while the network was silent
  std::function<HttpResponse(const HttpRequest&)> handler;  // on workers; empty where there is
  HttpHandler direct_handler;                               // one on the I/O thread
  MakeProtocol make_protocol;                               // instead of HTTP; empty: HTTP
  std::set<std::shared_ptr<Connection>> connections;
  std::atomic<std::size_t> open_now{0};  // as many, for other threads
  std::shared_ptr<std::atomic<std::size_t>> streaming = std::make_shared<std::atomic<std::size_t>>(0);
  std::shared_ptr<std::atomic<std::size_t>> upgraded = std::make_shared<std::atomic<std::size_t>>(0);
  std::mutex running_mutex;  // handlers that run, on workers
  std::condition_variable rested;
  int running = 0;
  bool refusing = false;
  tcp::endpoint bound;
  bool closed = false;
  bool draining = false;
  bool accepting = true;
  bool ticking = false;

  void handle(HttpRequest request, Reply reply) {
    const std::weak_ptr<Inner> weak = weak_from_this();
    if (direct_handler) {
      direct_handler(std::move(request), [weak, reply = std::move(reply)](HttpResponse response) {
        if (const auto still = weak.lock()) still->send(std::move(response), reply);
      });
      return;
    }
    auto kept = std::make_shared<HttpRequest>(std::move(request));
    const bool queued = runtime->work([weak, kept, reply] {
      if (const auto still = weak.lock()) still->run(*kept, reply);
    });
    if (!queued) reply(too_many_requests());
  }
  /// Answers on a worker; does nothing once the listener ends.
  void run(const HttpRequest& request, const Reply& reply) {
    {
      const std::lock_guard lock(running_mutex);
      if (refusing) return;
      ++running;
    }
    send(handler(request), reply);
    const std::lock_guard lock(running_mutex);
    --running;
    rested.notify_all();
  }
  void send(HttpResponse response, const Reply& reply) const {
    if (response.stream) count_stream(response);
    if (response.delay.count() <= 0) return reply(std::move(response));
    auto late = std::make_shared<asio::steady_timer>(runtime->context, response.delay);
    auto kept = std::make_shared<HttpResponse>(std::move(response));
    late->async_wait([late, kept, reply](const boost::system::error_code& error) {
      if (!error) reply(std::move(*kept));
    });
  }
  void count_stream(HttpResponse& response) const {
    const auto& count = response.upgrade ? upgraded : streaming;
    if (count->fetch_add(1) >= (response.upgrade ? limits.upgrades : limits.answers)) {
      --*count;
      response = too_many_requests();
      return;
    }
    auto* const body = response.stream.get();
    response.stream =
        std::shared_ptr<BodyStream>(body, [counter = count, kept = std::move(response.stream)](BodyStream*) mutable {
          kept.reset();
          --*counter;
        });
  }
  void rest() {
    std::unique_lock lock(running_mutex);
    refusing = true;
    rested.wait(lock, [this] { return running == 0; });
  }

  Status prepare(const ListenOptions& options);
  void accept();
  void take(tcp::socket socket);
  bool has_room();
  std::unique_ptr<SocketStream> stream_on(tcp::socket& socket) const;
  void keep_ticking();
  void tick();
  void change(Network to);
  void cut_all();
  void drain();
  void close();
};

Status HttpListener::Inner::prepare(const ListenOptions& options) {
  if (encrypted) {
    FLEETADM_TRY(tls, make_server_tls(options.certificate, client_ca, only_tls13));
  }
  if (!options.listens) return {};
  boost::system::error_code error;
  const auto address = asio::ip::make_address(options.address, error);
  if (error) return fail(Category::kUsage, "\"" + options.address + "\" is no IP address to listen on");
  if (options.loopback_only && !address.is_loopback())
    return fail(Category::kUsage, "not a loopback address: " + options.address);
  const tcp::endpoint endpoint(address, static_cast<std::uint16_t>(options.port));
  acceptor.open(endpoint.protocol(), error);
  if (!error) close_on_exec(acceptor.native_handle());
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    return fail(Category::kUnavailable,
                "cannot listen on " + options.address + ":" + std::to_string(options.port) + ": " + error.message());
  bound = acceptor.local_endpoint(error);
  return {};
}

void HttpListener::Inner::accept() {
  acceptor.async_accept([self = shared_from_this()](const boost::system::error_code& error, tcp::socket socket) {
    if (self->closed || self->draining || error == asio::error::operation_aborted) return;
    if (!error) self->take(std::move(socket));
    // Out of descriptors: the tick accepts again, so that this does not spin.
    self->accepting = !error;
    self->keep_ticking();
    if (!error) self->accept();
  });
}

/// False where the next connection is to be turned away.
bool HttpListener::Inner::has_room() {
  if (connections.size() + held.size() < limits.connections) return true;
  if (!evicts || connections.empty()) return false;
  const auto longest = std::ranges::min_element(
      connections, {}, [](const auto& connection) { return std::pair(connection->busy(), connection->last_request()); });
  const auto evicted = *longest;  // it takes itself from the others
  evicted->close();
  return true;
}

std::unique_ptr<SocketStream> HttpListener::Inner::stream_on(tcp::socket& socket) const {
  if (!encrypted) return make_plain_stream(socket.native_handle());
  auto stream = TlsStream::accept(socket.native_handle(), tls->native_handle());
  if (stream && judged_at) X509_VERIFY_PARAM_set_time(SSL_get0_param(stream->ssl()), judged_at());
  return stream;
}

void HttpListener::Inner::take(tcp::socket socket) {
  close_on_exec(socket.native_handle());
  if (network == Network::kReset) return reset_socket(socket);
  if (!has_room()) return;
  if (network == Network::kSilent) {
    held.push_back(std::move(socket));
    return;
  }
  auto stream = stream_on(socket);
  if (!stream) return;
  auto connection = std::make_shared<Connection>(std::move(socket), std::move(stream), limits, room);
  connections.insert(connection);
  ++open_now;
  const std::weak_ptr<Inner> weak = weak_from_this();
  // The protocol is the connection's, and gone before it.
  auto make = [weak, raw = connection.get()](ProtocolHost host, const SocketStream& spoken) -> std::shared_ptr<Protocol> {
    const auto here = weak.lock();
    if (!here) return nullptr;
    if (here->make_protocol) return here->make_protocol(std::move(host), spoken);
    host.streams_body = here->streams_body;
    host.handle = [weak, raw](HttpRequest request, Reply reply) {
      raw->saw_request();
      if (const auto still = weak.lock()) still->handle(std::move(request), std::move(reply));
    };
    return spoken.http2() ? make_http2(std::move(host)) : make_http1(std::move(host));
  };
  connection->start(std::move(make), [weak](const std::shared_ptr<Connection>& gone) {
    const auto here = weak.lock();
    if (!here) return;
    here->connections.erase(gone);
    --here->open_now;
  });
}

void HttpListener::Inner::change(Network to) {
  if (closed || network == to) return;
  network = to;
  if (to != Network::kSilent) return cut_all();
  for (const auto& connection : connections) connection->freeze();
}

void HttpListener::Inner::cut_all() {
  for (auto& socket : std::exchange(held, {})) reset_socket(socket);
  const auto copy = connections;
  for (const auto& connection : copy) connection->reset();
}

/// For as long as there is something to look at: a listener without clients wakes nobody.
void HttpListener::Inner::keep_ticking() {
  if (ticking || (connections.empty() && accepting)) return;
  ticking = true;
  timer.expires_after(kTick);
  timer.async_wait([self = shared_from_this()](const boost::system::error_code&) {
    self->ticking = false;
    if (!self->closed) self->tick();
  });
}

void HttpListener::Inner::tick() {
  const auto at = std::chrono::steady_clock::now();
  const auto copy = connections;
  for (const auto& connection : copy) connection->tick(at);
  if (!std::exchange(accepting, true)) accept();
  keep_ticking();
}

/// The ticks go on: time-driven bodies are part of what runs.
void HttpListener::Inner::drain() {
  draining = true;
  accepting = true;
  boost::system::error_code ignored;
  acceptor.close(ignored);
  for (auto& socket : std::exchange(held, {})) reset_socket(socket);
  const auto copy = connections;
  for (const auto& connection : copy) connection->drain();
}

void HttpListener::Inner::close() {
  closed = true;
  boost::system::error_code ignored;
  acceptor.close(ignored);
  timer.cancel();
  held.clear();
  const auto copy = std::exchange(connections, {});
  for (const auto& connection : copy) connection->close();
}

Result<std::unique_ptr<HttpListener>> HttpListener::open(HttpRuntime& runtime, const ListenOptions& options,
                                                         const std::function<void(Inner&)>& set_up) {
  try {
    auto inner = std::make_shared<Inner>(runtime.inner_, options);
    FLEETADM_CHECK(inner->prepare(options));
    set_up(*inner);
    if (options.listens) asio::post(runtime.inner_->context, [inner] { inner->accept(); });
    return std::unique_ptr<HttpListener>(new HttpListener(std::move(inner)));
  } catch (const std::exception& error) {
    return fail(Category::kInternal, std::string("cannot start the server: ") + error.what());
  }
}

Result<std::unique_ptr<HttpListener>> HttpListener::start(HttpRuntime& runtime, const ListenOptions& options,
                                                          std::function<HttpResponse(const HttpRequest&)> handler) {
  return open(runtime, options, [&](Inner& inner) { inner.handler = std::move(handler); });
}

Result<std::unique_ptr<HttpListener>> HttpListener::start_direct(HttpRuntime& runtime, const ListenOptions& options,
                                                                 HttpHandler handler) {
  return open(runtime, options, [&](Inner& inner) { inner.direct_handler = std::move(handler); });
}

Result<std::unique_ptr<HttpListener>> HttpListener::start_protocol(HttpRuntime& runtime, const ListenOptions& options,
                                                                   MakeProtocol make_protocol) {
  return open(runtime, options, [&](Inner& inner) { inner.make_protocol = std::move(make_protocol); });
}

HttpListener::~HttpListener() {
  inner_->rest();
  inner_->runtime->on_io_thread([this] { inner_->close(); });
}

void HttpListener::adopt(tcp::socket socket) {
  if (inner_->closed || inner_->draining) return;
  inner_->take(std::move(socket));
  inner_->keep_ticking();
}

int HttpListener::port() const { return inner_->bound.port(); }

std::string HttpListener::endpoint() const {
  return join_host_port(inner_->bound.address().to_string(), std::to_string(inner_->bound.port()));
}

void HttpListener::set_network(Network network) {
  asio::post(inner_->runtime->context, [inner = inner_, network] { inner->change(network); });
}

Status HttpListener::set_certificate(const pki::KeyPair& certificate) {
  std::unique_lock lock(inner_->client_ca_mutex);
  FLEETADM_TRY(auto made, make_server_tls(certificate, inner_->client_ca, inner_->only_tls13));
  lock.unlock();
  asio::post(inner_->runtime->context, [inner = inner_, tls = std::move(made)] {
    inner->tls = tls;
    if (inner->network != Network::kSilent) inner->cut_all();
  });
  return {};
}

Status HttpListener::renew(const pki::KeyPair& certificate, const std::string& client_ca) {
  FLEETADM_TRY(auto made, make_server_tls(certificate, client_ca, inner_->only_tls13));
  const std::lock_guard lock(inner_->client_ca_mutex);
  inner_->client_ca = client_ca;
  asio::post(inner_->runtime->context, [inner = inner_, tls = std::move(made)] { inner->tls = tls; });
  return {};
}

void HttpListener::drain() {
  asio::post(inner_->runtime->context, [inner = inner_] { inner->drain(); });
}

std::size_t HttpListener::connections() const { return inner_->open_now; }

}  // namespace fleetadm::serve
