// Requests to one API server over HTTP/1.1 connections that are kept, under TLS.
#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/proxy/hop/hop.h"
#include "core/proxy/hop/http1_client.h"
#include "core/proxy/hop/outgoing_request.h"
#include "core/proxy/hop/request_head.h"
#include "core/serve/http/connection.h"
#include "core/serve/http/tls_stream.h"
#include "kubeclient/config/forward_proxy.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::proxy {

struct Http1HopOptions {
  std::string name = "the API server";  // for errors
  std::string server;                   // https://host:port[/prefix]; "http://" is spoken as it is, for servers on loopback
  std::string ca;                       // PEM; empty: the system's roots
  std::string tls_server_name;          // empty: the server's host
  /// Makes the connections, where the server's address is not simply dialed; the result is a connected socket, and TLS is spoken
  /// on it as on any other. It is called on the I/O thread, and calls back there, not from within.
  std::function<void(std::function<void(Result<boost::asio::ip::tcp::socket>)> done)> connect;
  std::optional<kube::ForwardProxy> proxy;  // otherwise: by which one it is dialed
  /// Of requests without an authorization header: the bearer token and the client certificate of the moment. It must not block.
  std::shared_ptr<kube::CredentialSource> credentials;
  std::size_t connections = 512;                 // an upgrade, a watch, and the log that is followed take one each
  std::size_t waiting = 1024;                    // requests, for one of them
  std::size_t window = std::size_t{128} * 1024;  // of an answer: what is held before its reader has read it
  std::chrono::milliseconds dial{5000};          // to have a TCP connection
  std::chrono::seconds handshake{5};             // and then TLS
  std::chrono::milliseconds queue{10000};        // to have a connection to be sent on
  std::chrono::milliseconds head{70000};         // from the end of a request to its answer's head; API servers take 60 s
  std::chrono::seconds idle{90};                 // then a connection that is kept is closed
};

/// kUnsupported for what a hop does not do: an unverified server, a SOCKS proxy in between, impersonation. Without a proxy of the
/// configuration's own, it is dialed directly.
Result<Http1HopOptions> hop_options(const kube::RestConfig& config);

/// I/O thread only; the last reference goes there too, or when the runtime has stopped.
///
/// A request that brings its own authorization goes on connections that show no client certificate, and gets no token of the
/// hop's: an API server would take the certificate's identity for it.
class Http1Hop final : public Hop, public std::enable_shared_from_this<Http1Hop> {
 public:
  /// kUsage for a malformed server, kTls for a bad CA, kUnsupported for credentials that block.
  static Result<std::shared_ptr<Http1Hop>> make(boost::asio::any_io_executor executor, Http1HopOptions options);
  ~Http1Hop() override;
  Http1Hop(const Http1Hop&) = delete;
  Http1Hop& operator=(const Http1Hop&) = delete;

  /// `done` may be called from within it, where the request is refused.
  void send(serve::HttpRequest request, Done done) override;
  /// Cuts the connections; what was asked, and what is asked from now on, ends with an Error.
  void close();

  struct Counts {
    std::size_t open = 0;  // connections, with those that are being made
    std::size_t idle = 0;
    std::size_t waiting = 0;  // requests
    std::uint64_t made = 0;   // connections so far
  };
  Counts counts() const;

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;
  struct Waiting {
    OutgoingRequest request;
    SteadyTime since;
  };
  /// Connections that show the same identity.
  struct Lane {
    std::shared_ptr<boost::asio::ssl::context> tls;
    pki::KeyPair certificate;
    unsigned generation = 0;  // of the certificate
    std::deque<Waiting> waiting;
    std::size_t opening = 0;
    std::vector<serve::Connection*> idle;  // the last used one at the end
  };
  struct Line {
    std::shared_ptr<serve::Connection> connection;
    std::shared_ptr<Http1Client> client;  // once the handshake is done
    const serve::TlsStream* tls = nullptr;
    std::size_t lane = 0;
    unsigned generation = 0;
    SteadyTime since = std::chrono::steady_clock::now();
    std::optional<Error> failure;  // why it was closed on this side
  };
  enum : std::size_t { kOwn, kBare, kLanes };

  Http1Hop(boost::asio::any_io_executor executor, Http1HopOptions options, ServerAddress address)
      : executor_(std::move(executor)), options_(std::move(options)), address_(std::move(address)), timer_(executor_) {}
  Result<OutgoingRequest> prepare(serve::HttpRequest request, std::size_t lane);
  Status use_certificate(Lane& lane, const pki::KeyPair& certificate);
  Done told(Done done, std::size_t lane);
  void leave(std::uint64_t number);
  void open_spare(std::size_t number);
  void place(OutgoingRequest request, std::size_t lane);
  void wait(OutgoingRequest request, std::size_t lane, bool first);
  void pump();
  bool has_room(std::size_t lane);
  void open(std::size_t lane);
  void connect(std::size_t lane, boost::asio::ip::tcp::socket socket);
  std::shared_ptr<serve::Protocol> opened(serve::Connection* connection, serve::ProtocolHost host);
  void could_not_open(std::size_t lane, Error error);
  void rested(serve::Connection* connection);
  void gone(const std::shared_ptr<serve::Connection>& connection);
  void keep_ticking();
  void tick();
  std::size_t opening() const;

  boost::asio::any_io_executor executor_;
  Http1HopOptions options_;
  ServerAddress address_;
  boost::asio::steady_timer timer_;
  std::array<Lane, kLanes> lanes_;
  std::map<serve::Connection*, Line> lines_;
  std::uint64_t made_ = 0;
  std::uint64_t asked_ = 0;  // requests so far
  bool ticking_ = false;
  bool closed_ = false;
};

}  // namespace fleetadm::proxy
