// Listeners of a process: one I/O thread drives the sockets of all of them, a small pool answers requests.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <ctime>
#include <functional>
#include <memory>
#include <string>

#include "core/serve/http/message.h"
#include "core/serve/http/protocol.h"
#include "kubeclient/base/result.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::serve {

inline constexpr std::size_t kMaxQueuedRequests = 4096;  // that wait for a worker, of all listeners of a runtime

/// One I/O thread and a pool of workers; without workers, the I/O thread answers too. The destructor cuts all connections and
/// joins; listeners end first.
class HttpRuntime {
 public:
  explicit HttpRuntime(std::size_t workers);
  ~HttpRuntime();
  HttpRuntime(const HttpRuntime&) = delete;
  HttpRuntime& operator=(const HttpRuntime&) = delete;

  /// Runs a function on a worker. False where more wait than the pool will ever catch up with: the caller answers 429.
  bool work(std::function<void()> task);
  /// Runs what waits long for something outside of this process, on the caller's thread; while it does, another worker stands in,
  /// so that those who wait (up to 32) hold up nobody else.
  void wait_outside(const std::function<void()>& wait);
  /// Of the I/O thread, for connections that the process makes itself, timers and what is posted to them.
  boost::asio::any_io_executor executor() const;
  /// Runs a function on the I/O thread and waits for it; where that has stopped, here.
  void on_io_thread(const std::function<void()>& task) const;
  /// Runs what is queued, refuses the rest, cuts the connections and joins the threads. Idempotent.
  void stop();

 private:
  friend class HttpListener;
  struct Inner;
  std::shared_ptr<Inner> inner_;
};

struct ListenOptions {
  std::string address = "127.0.0.1";  // to bind, IPv4 or IPv6
  int port = 0;                       // 0: any free one
  bool listens = true;                // false: connections are handed to it (adopt()); address and port say nothing
  bool loopback_only = false;         // the caller's policy: an address that others could reach is refused (kUsage)
  bool tls = true;                    // false: plain HTTP/1.1; then certificate, client_ca and now say nothing
  pki::KeyPair certificate;           // the server's
  std::string client_ca;              // PEM; client certificates are asked for, not demanded
  bool only_tls13 = false;            // otherwise 1.2 will do
  /// Where HttpLimits::connections are taken, the one whose last request is the longest ago makes room for the next: clients that
  /// ask nothing hold off nobody. Otherwise the next is turned away.
  bool evicts = false;
  HttpLimits limits;
  /// The bodies of such requests are not collected: the handler is called with their head, and reads them as they come. On the
  /// I/O thread; must not block. Empty: of none.
  std::function<bool(const HttpRequest& head)> streams_body;
  std::function<std::time_t()> now;  // what client certificates are judged by; empty: the system's clock
};

class HttpListener {
 public:
  /// kReset: connections are reset as they come. kSilent: they are taken, and nothing is answered.
  enum class Network { kWhole, kReset, kSilent };

  /// `handler` runs on the runtime's workers and may block, or where it has none, on its I/O thread, and must not block for long.
  /// kUsage for a malformed address, kUnavailable where it cannot be bound.
  static Result<std::unique_ptr<HttpListener>> start(HttpRuntime& runtime, const ListenOptions& options,
                                                     std::function<HttpResponse(const HttpRequest&)> handler);
  /// `handler` runs on the I/O thread, must not block, and may reply later, on any thread.
  static Result<std::unique_ptr<HttpListener>> start_direct(HttpRuntime& runtime, const ListenOptions& options,
                                                            HttpHandler handler);
  /// Speaks something else than HTTP requests on the connections that come. `make_protocol` runs on the I/O thread.
  static Result<std::unique_ptr<HttpListener>> start_protocol(HttpRuntime& runtime, const ListenOptions& options,
                                                              MakeProtocol make_protocol);
  /// Waits for the handlers that run, then cuts this listener's connections. Requests that come meanwhile get no answer.
  ~HttpListener();
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;
  /// Serves a connection that came by another way. I/O thread only.
  void adopt(boost::asio::ip::tcp::socket socket);
  int port() const;
  std::string endpoint() const;  // "127.0.0.1:43121", "[::1]:43121": where it really listens
  /// A change cuts the connections that are open. Any thread.
  void set_network(Network network);
  /// For TLS alone. Connections that are open are cut.
  Status set_certificate(const pki::KeyPair& certificate);
  /// The same for connections that come from now on, and whom they may show certificates of; those that are open go on. Any
  /// thread.
  Status renew(const pki::KeyPair& certificate, const std::string& client_ca);
  /// Takes no more connections, and closes each when what runs on it is done. Any thread.
  void drain();
  /// That are open. Any thread.
  std::size_t connections() const;

 private:
  struct Inner;
  explicit HttpListener(std::shared_ptr<Inner> inner) : inner_(std::move(inner)) {}
  static Result<std::unique_ptr<HttpListener>> open(HttpRuntime& runtime, const ListenOptions& options,
                                                    const std::function<void(Inner&)>& set_up);
  std::shared_ptr<Inner> inner_;
};

}  // namespace fleetadm::serve
