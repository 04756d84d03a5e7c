#include "core/serve/http/server.h"

#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <deque>
#include <fcntl.h>
#include <future>
#include <mutex>
#include <openssl/ssl.h>
#include <set>
#include <thread>

#include "core/serve/http/descriptor_watch.h"
#include "core/serve/http/protocol.h"
#include "core/serve/http/tls_context.h"
#include "core/serve/http/tls_stream.h"
#include "kubeclient/base/log.h"

namespace fleetadm::serve {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::size_t kMaxStandIns = 32;
constexpr std::size_t kPiece = 64 * 1024;
constexpr int kReadsAtOnce = 8;  // then other connections get the thread
constexpr auto kTick = std::chrono::milliseconds(500);

class Pool {
 public:
  explicit Pool(std::size_t threads) {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  }
  ~Pool() { stop(); }
  bool add(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_ || tasks_.size() >= kMaxQueuedRequests) return false;
      tasks_.push_back(std::move(task));
    }
    ready_.notify_one();
    return true;
  }
  void wait_outside(const std::function<void()>& wait) {
    {
      const std::lock_guard lock(mutex_);
      if (++outside_ > stand_ins_ && stand_ins_ < kMaxStandIns && !stopping_) {
        threads_.emplace_back([this] { run(); });  // it stays: who waited once may wait again
        ++stand_ins_;
      }
    }
    wait();
    const std::lock_guard lock(mutex_);
    --outside_;
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    ready_.notify_all();
    for (auto& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      ready_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  std::size_t outside_ = 0;
  std::size_t stand_ins_ = 0;
  bool stopping_ = false;
};

}  // namespace

struct HttpRuntime::Inner {
  explicit Inner(std::size_t workers) : guard(asio::make_work_guard(context)), pool(workers) {
    thread = std::thread([this] { context.run(); });
  }
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard;
  Pool pool;
  std::thread thread;
};

HttpRuntime::HttpRuntime(std::size_t workers) : inner_(std::make_shared<Inner>(workers)) {}
HttpRuntime::~HttpRuntime() { stop(); }
bool HttpRuntime::work(std::function<void()> task) { return inner_->pool.add(std::move(task)); }
void HttpRuntime::wait_outside(const std::function<void()>& wait) { inner_->pool.wait_outside(wait); }
void HttpRuntime::stop() {
  inner_->pool.stop();
  inner_->guard.reset();
  inner_->context.stop();
  if (inner_->thread.joinable()) inner_->thread.join();
  // What was cancelled last waits to be told so, and holds its listener, which holds this context: told, it lets go.
  inner_->context.restart();
  inner_->context.poll();
}

namespace {

class Connection;

}  // namespace

/// Lives on the I/O thread; connections share it.
struct HttpListener::Inner : std::enable_shared_from_this<HttpListener::Inner> {
  Inner(std::shared_ptr<HttpRuntime::Inner> shared, const ListenOptions& options)
      : runtime(std::move(shared)),
        acceptor(runtime->context),
        timer(runtime->context),
        client_ca(options.client_ca),
        judged_at(options.now),
        limits(options.limits),
        streams_body(options.streams_body),
        room(std::make_shared<MemoryBudget>(options.limits.bodies)) {}
  std::shared_ptr<HttpRuntime::Inner> runtime;
  std::shared_ptr<asio::ssl::context> tls;
  tcp::acceptor acceptor;
  asio::steady_timer timer;
  std::string client_ca;
  std::function<std::time_t()> judged_at;
  HttpLimits limits;
  std::function<bool(const HttpRequest&)> streams_body;
  std::shared_ptr<MemoryBudget> room;
  Network network = Network::kWhole;
  std::vector<tcp::socket> held;  // taken while the network was silent
  std::function<HttpResponse(const HttpRequest&)> handler;
  std::set<std::shared_ptr<Connection>> connections;
  std::shared_ptr<std::atomic<std::size_t>> streaming = std::make_shared<std::atomic<std::size_t>>(0);
  std::shared_ptr<std::atomic<std::size_t>> upgraded = std::make_shared<std::atomic<std::size_t>>(0);
  std::mutex running_mutex;  // handlers that run, on workers
  std::condition_variable rested;
  int running = 0;
  bool refusing = false;
  int port = 0;
  bool closed = false;
  bool accepting = true;

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
  void tick();
  void change(Network to);
  void cut_all();
  void close();
};

namespace {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, std::unique_ptr<TlsStream> tls, HttpLimits limits, std::shared_ptr<MemoryBudget> room)
      : socket_(std::move(socket)),
        tls_(std::move(tls)),
        limits_(limits),
        room_(std::move(room)),
        since_(std::chrono::steady_clock::now()) {}

  /// Client certificates are judged by this time instead of the system's.
  void set_time(std::time_t now) { X509_VERIFY_PARAM_set_time(SSL_get0_param(tls_->ssl()), now); }

  void start(HttpHandler handler, std::function<bool(const HttpRequest&)> streams_body,
             std::function<void(const std::shared_ptr<Connection>&)> gone) {
    handler_ = std::move(handler);
    streams_body_ = std::move(streams_body);
    gone_ = std::move(gone);
    boost::system::error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    shake_hands();
  }

  /// Every half second: time-driven bodies and overdue clients.
  void tick(SteadyTime now) {
    if (closed_ || frozen_) return;
    const auto quiet = now - since_;
    if (!protocol_) {
      if (quiet > limits_.handshake) close();
      return;
    }
    if (writing_ && now - write_began_ > limits_.stuck) return close();
    if (!protocol_->busy() && quiet > (protocol_->receiving() ? limits_.request : limits_.idle)) return close();
    if (protocol_->busy()) since_ = now;
    flush();
  }

  /// Takes what comes, and answers nothing.
  void freeze() { frozen_ = true; }

  /// The client sees a reset, not an end.
  void reset() {
    boost::system::error_code ignored;
    if (!closed_) socket_.set_option(asio::socket_base::linger(true, 0), ignored);
    close();
  }

  void close() {
    if (closed_) return;
    closed_ = true;
    boost::system::error_code ignored;
    socket_.close(ignored);
    // Bodies hold readers of the store: they go now, not when the last handler ends.
    protocol_.reset();
    if (gone_) gone_(shared_from_this());
  }

 private:
  /// Calls the function again once the socket can be read, or written. False where the connection is over.
  bool wait(TlsStream::Step step, void (Connection::*then)()) {
    if (step == TlsStream::Step::kEnded) {
      close();
      return false;
    }
    const auto kind = step == TlsStream::Step::kWaitsToWrite ? tcp::socket::wait_write : tcp::socket::wait_read;
    socket_.async_wait(kind, [self = shared_from_this(), then](const boost::system::error_code& error) {
      if (self->closed_) return;
      if (error) return self->close();
      (self.get()->*then)();
    });
    return true;
  }

  void shake_hands() {
    const auto step = tls_->handshake();
    if (step == TlsStream::Step::kDone) return open();
    wait(step, &Connection::shake_hands);
  }

  void open() {
    const unsigned char* alpn = nullptr;
    unsigned int size = 0;
    SSL_get0_alpn_selected(tls_->ssl(), &alpn, &size);
    const std::string_view chosen(reinterpret_cast<const char*>(alpn), size);
    ProtocolHost host;
    host.handle = std::move(handler_);
    host.streams_body = std::move(streams_body_);
    host.peer = peer_of(tls_->ssl());
    host.limits = limits_;
    host.room = room_;
    const std::weak_ptr<Connection> weak = weak_from_this();
    const auto executor = socket_.get_executor();
    host.post = [weak, executor](std::function<void()> task) {
      asio::post(executor, [weak, task = std::move(task)] {
        const auto here = weak.lock();
        if (here && !here->closed_) task();
      });
    };
    host.flush = [weak, executor] {
      const auto here = weak.lock();
      if (!here || here->flush_posted_.exchange(true)) return;
      asio::post(executor, [here] {
        here->flush_posted_ = false;
        here->flush();
      });
    };
    host.watch = [executor, flush = host.flush](int descriptor) { return watch_descriptor(executor, descriptor, flush); };
    protocol_ = chosen == "h2" ? make_http2(std::move(host)) : make_http1(std::move(host));
    since_ = std::chrono::steady_clock::now();
    flush();
    read();
  }

  void read() {
    static thread_local std::array<char, 16 * 1024> input;  // what is read is taken at once
    for (int i = 0; i < kReadsAtOnce; ++i) {
      const auto [step, size] = tls_->read(input);
      if (step != TlsStream::Step::kDone) {
        wait(step, &Connection::read);
        return;
      }
      if (!take({input.data(), size})) return;
    }
    read_later();
  }

  void read_later() {
    asio::post(socket_.get_executor(), [self = shared_from_this()] {
      if (!self->closed_) self->read();
    });
  }

  /// False where no more is to be read for now.
  bool take(std::string_view bytes) {
    if (frozen_) return true;
    if (!protocol_->receiving()) since_ = std::chrono::steady_clock::now();
    const bool more = protocol_->feed(bytes);
    ending_ = !more;
    flush();
    if (!more || closed_) return false;
    paused_ = !protocol_->wants_input();
    return !paused_;
  }

  void flush() {
    if (closed_ || frozen_ || writing_ || !protocol_) return;
    std::string next;
    protocol_->output(next, kPiece);
    if (paused_ && protocol_->wants_input()) {
      paused_ = false;
      read_later();
    }
    if (next.empty()) {
      if (ending_ || protocol_->finished()) close();
      return;
    }
    output_ = std::move(next);
    written_ = 0;
    writing_ = true;
    write_began_ = std::chrono::steady_clock::now();
    write();
  }

  void write() {
    while (written_ < output_.size()) {
      const auto [step, size] = tls_->write(std::string_view(output_).substr(written_));
      if (step != TlsStream::Step::kDone) {
        wait(step, &Connection::write);
        return;
      }
      written_ += size;
    }
    output_ = {};  // nothing of it is kept: most connections are idle
    asio::post(socket_.get_executor(), [self = shared_from_this()] {
      self->writing_ = false;
      self->flush();
    });
  }

  tcp::socket socket_;
  std::unique_ptr<TlsStream> tls_;
  HttpLimits limits_;
  std::shared_ptr<MemoryBudget> room_;
  std::shared_ptr<Protocol> protocol_;
  HttpHandler handler_;                                   // until the handshake is done
  std::function<bool(const HttpRequest&)> streams_body_;  //
  std::function<void(const std::shared_ptr<Connection>&)> gone_;
  std::string output_;  // that is being written
  std::size_t written_ = 0;
  std::atomic<bool> flush_posted_{false};
  bool writing_ = false;
  bool ending_ = false;
  bool paused_ = false;  // the client is to wait with what it sends
  bool closed_ = false;
  bool frozen_ = false;
  SteadyTime since_;
  SteadyTime write_began_;
};

/// Asio does not: processes that are started beside the server must not hold its sockets.
void close_on_exec(int socket) { ::fcntl(socket, F_SETFD, FD_CLOEXEC); }

void reset_socket(tcp::socket& socket) {
  boost::system::error_code ignored;
  socket.set_option(asio::socket_base::linger(true, 0), ignored);
  socket.close(ignored);
}

}  // namespace

Status HttpListener::Inner::prepare(const ListenOptions& options) {
  FLEETADM_TRY(tls, make_server_tls(options.certificate, client_ca));
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
  port = acceptor.local_endpoint(error).port();
  return {};
}

void HttpListener::Inner::accept() {
  acceptor.async_accept([self = shared_from_this()](const boost::system::error_code& error, tcp::socket socket) {
    if (self->closed || error == asio::error::operation_aborted) return;
    if (!error) self->take(std::move(socket));
    // Out of descriptors: the tick accepts again, so that this does not spin.
    self->accepting = !error;
    if (!error) self->accept();
  });
}

void HttpListener::Inner::take(tcp::socket socket) {
  close_on_exec(socket.native_handle());
  if (network == Network::kReset) return reset_socket(socket);
  if (connections.size() + held.size() >= limits.connections) return;
  if (network == Network::kSilent) {
    held.push_back(std::move(socket));
    return;
  }
  auto stream = TlsStream::accept(socket.native_handle(), tls->native_handle());
  if (!stream) return;
  auto connection = std::make_shared<Connection>(std::move(socket), std::move(stream), limits, room);
  if (judged_at) connection->set_time(judged_at());
  connections.insert(connection);
  const std::weak_ptr<Inner> weak = weak_from_this();
  connection->start(
      [weak](HttpRequest request, Reply reply) {
        const auto here = weak.lock();
        if (!here) return;
        auto kept = std::make_shared<HttpRequest>(std::move(request));
        const bool queued = here->runtime->pool.add([weak, kept, reply] {
          if (const auto still = weak.lock()) still->run(*kept, reply);
        });
        if (!queued) reply(too_many_requests());
      },
      streams_body,
      [weak](const std::shared_ptr<Connection>& gone) {
        if (const auto here = weak.lock()) here->connections.erase(gone);
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

void HttpListener::Inner::tick() {
  timer.expires_after(kTick);
  timer.async_wait([self = shared_from_this()](const boost::system::error_code&) {
    if (self->closed) return;
    const auto at = std::chrono::steady_clock::now();
    const auto copy = self->connections;
    for (const auto& connection : copy) connection->tick(at);
    if (!std::exchange(self->accepting, true)) self->accept();
    self->tick();
  });
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

Result<std::unique_ptr<HttpListener>> HttpListener::start(HttpRuntime& runtime, const ListenOptions& options,
                                                          std::function<HttpResponse(const HttpRequest&)> handler) {
  try {
    auto inner = std::make_shared<Inner>(runtime.inner_, options);
    FLEETADM_CHECK(inner->prepare(options));
    inner->handler = std::move(handler);
    asio::post(runtime.inner_->context, [inner] {
      inner->accept();
      inner->tick();
    });
    return std::unique_ptr<HttpListener>(new HttpListener(std::move(inner)));
  } catch (const std::exception& error) {
    return fail(Category::kInternal, std::string("cannot start the server: ") + error.what());
  }
}

HttpListener::~HttpListener() {
  auto& context = inner_->runtime->context;
  inner_->rest();
  if (context.stopped()) {
    inner_->close();
    return;
  }
  std::promise<void> done;
  asio::post(context, [this, &done] {
    inner_->close();
    done.set_value();
  });
  done.get_future().wait();
}

int HttpListener::port() const { return inner_->port; }

void HttpListener::set_network(Network network) {
  asio::post(inner_->runtime->context, [inner = inner_, network] { inner->change(network); });
}

Status HttpListener::set_certificate(const pki::KeyPair& certificate) {
  FLEETADM_TRY(auto tls, make_server_tls(certificate, inner_->client_ca));
  asio::post(inner_->runtime->context, [inner = inner_, tls] {
    inner->tls = tls;
    if (inner->network != Network::kSilent) inner->cut_all();
  });
  return {};
}

}  // namespace fleetadm::serve
