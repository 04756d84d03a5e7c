#include "core/proxy/hop/http1_hop.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <utility>

#include "core/proxy/hop/client_left.h"
#include "core/proxy/hop/proxy_dial.h"
#include "core/serve/http/tls_context.h"

namespace fleetadm::proxy {
namespace {

namespace asio = boost::asio;

constexpr auto kHopTick = std::chrono::milliseconds(500);

/// A server that is gone without a word is noticed under watches, where nothing is sent.
void keep_alive(int socket) {
  const auto set = [socket](int level, int option, int value) { ::setsockopt(socket, level, option, &value, sizeof value); };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

Error unavailable(int code, std::string message) {
  return {.code = code, .category = Category::kUnavailable, .message = std::move(message)};
}

/// Right after its handshake has failed.
Error handshake_error(const serve::TlsStream* tls) {
  if (tls == nullptr) return unavailable(502, "the connection broke");
  const bool judged = SSL_get_verify_result(tls->ssl()) != X509_V_OK || ERR_peek_last_error() != 0;
  return {.code = 502, .category = judged ? Category::kTls : Category::kUnavailable, .message = "TLS: " + tls->failure()};
}

}  // namespace

Result<Http1HopOptions> hop_options(const kube::RestConfig& config) {
  const auto unsupported = [&](std::string what) {
    return fail(Category::kUnsupported, "the configuration of " + config.server + " " + what + ", which cannot be used here");
  };
  if (config.insecure) return unsupported("does not verify the server's certificate");
  if (!config.impersonate_user.empty()) return unsupported("impersonates a user");
  Http1HopOptions out;
  out.name = config.name.empty() ? "the API server" : "the API server of " + config.name;
  out.server = config.server;
  out.ca = config.ca_data;
  out.tls_server_name = config.tls_server_name;
  out.credentials = config.credentials;
  if (!config.proxy_url.empty()) {
    FLEETADM_TRY(out.proxy, kube::forward_proxy(config, {}));
  }
  return out;
}

Result<std::shared_ptr<Http1Hop>> Http1Hop::make(asio::any_io_executor executor, Http1HopOptions options) {
  FLEETADM_TRY(auto address, parse_server(options.server));
  if (options.credentials && options.credentials->blocks()) {
    return fail(Category::kUnsupported, options.name + ": a credential plugin cannot be used here");
  }
  if (options.tls_server_name.empty()) options.tls_server_name = address.host;
  std::shared_ptr<Http1Hop> hop(new Http1Hop(std::move(executor), std::move(options), std::move(address)));
  if (!hop->address_.tls) return hop;
  for (auto& lane : hop->lanes_) {
    FLEETADM_CHECK(hop->use_certificate(lane, {}));
  }
  return hop;
}

Http1Hop::~Http1Hop() { close(); }

void Http1Hop::close() {
  closed_ = true;
  timer_.cancel();
  const auto why = unavailable(503, "shutting down");
  for (auto& lane : lanes_) {
    lane.idle.clear();
    for (auto& waiting : std::exchange(lane.waiting, {})) waiting.request.done(fail(why));
  }
  for (auto& [raw, line] : std::exchange(lines_, {})) {
    line.connection->close();
    if (!line.client) continue;
    if (auto back = line.client->closed(false, why)) back->done(fail(why));
  }
}

Http1Hop::Counts Http1Hop::counts() const {
  Counts out;
  out.made = made_;
  out.open = lines_.size() + opening();
  for (const auto& lane : lanes_) {
    out.idle += lane.idle.size();
    out.waiting += lane.waiting.size();
  }
  return out;
}

/// Connections for which there is no line yet.
std::size_t Http1Hop::opening() const {
  std::size_t out = 0;
  for (const auto& lane : lanes_) out += lane.opening;
  for (const auto& [raw, line] : lines_) out -= line.client ? 0 : 1;
  return out;
}

void Http1Hop::send(serve::HttpRequest request, Done done) {
  const std::size_t lane = request.header("authorization").empty() ? kOwn : kBare;
  done = told(std::move(done), lane);
  if (closed_) return done(fail(unavailable(503, "shutting down")));
  const auto left = request.left;
  if (left.stop_requested()) return done(fail(client_left()));
  auto prepared = prepare(std::move(request), lane);
  if (!prepared) return done(fail(std::move(prepared).error()));
  prepared->done = std::move(done);
  prepared->number = ++asked_;
  prepared->left = when_left(left, [weak = weak_from_this(), number = asked_] {
    if (const auto self = weak.lock()) self->leave(number);
  });
  place(std::move(*prepared), lane);
}

/// HTTP/1.1 takes nothing back but by closing the connection.
void Http1Hop::leave(std::uint64_t number) {
  for (auto& lane : lanes_) {
    const auto at = std::ranges::find(lane.waiting, number, [](const Waiting& waiting) { return waiting.request.number; });
    if (at == lane.waiting.end()) continue;
    const OutgoingRequest over = std::move(at->request);
    lane.waiting.erase(at);
    return over.done(fail(client_left()));
  }
  const auto at = std::ranges::find_if(
      lines_, [&](const auto& entry) { return entry.second.client && entry.second.client->waits_for() == number; });
  if (at == lines_.end()) return;
  at->second.failure = client_left();
  const auto connection = at->second.connection;
  connection->close();
}

Http1Hop::Done Http1Hop::told(Done done, std::size_t lane) {
  return [weak = weak_from_this(), lane, name = options_.name, source = lane == kOwn ? options_.credentials : nullptr,
          done = std::move(done)](Result<serve::HttpResponse> answer) {
    if (!answer) return done(fail(answer.error().wrap(name)));
    if (answer->status == 401 && source) source->refresh();  // for the next one
    const bool switched = answer->upgrade != nullptr;
    done(std::move(answer));
    if (!switched) return;
    if (const auto self = weak.lock()) self->open_spare(lane);
  };
}

/// An upgrade has kept its connection. Whoever runs one command runs another: that one does not wait for a handshake.
void Http1Hop::open_spare(std::size_t number) {
  const Lane& lane = lanes_[number];
  const bool needed = lane.idle.empty() && lane.opening == 0 && lane.waiting.empty();
  if (!closed_ && needed && lines_.size() + opening() < options_.connections) open(number);
}

Result<OutgoingRequest> Http1Hop::prepare(serve::HttpRequest request, std::size_t lane) {
  std::string token;
  if (lane == kOwn && options_.credentials) {
    auto credentials = options_.credentials->current();
    if (!credentials) return fail(Error{.code = 502, .category = Category::kAuth, .message = credentials.error().message});
    FLEETADM_CHECK(use_certificate(lanes_[lane], {credentials->client_certificate, credentials->client_key}));
    token = std::move(credentials->token);
  }
  return outgoing_request(std::move(request), address_, token);
}

/// Connections that show another one are used no more.
Status Http1Hop::use_certificate(Lane& lane, const pki::KeyPair& certificate) {
  const bool same = lane.certificate.certificate == certificate.certificate && lane.certificate.key == certificate.key;
  if (!address_.tls || (lane.tls && same)) return {};
  FLEETADM_TRY(lane.tls, serve::make_client_tls({.ca = options_.ca, .certificate = certificate}));
  lane.certificate = certificate;
  ++lane.generation;
  for (auto* connection : std::exchange(lane.idle, {})) lines_.at(connection).client->retire();
  return {};
}

void Http1Hop::place(OutgoingRequest request, std::size_t lane) {
  auto& idle = lanes_[lane].idle;
  if (idle.empty() || request.repeated) return wait(std::move(request), lane, request.repeated);
  auto* const connection = idle.back();
  idle.pop_back();
  lines_.at(connection).client->begin(std::move(request));
}

void Http1Hop::wait(OutgoingRequest request, std::size_t lane, bool first) {
  auto& waiting = lanes_[lane].waiting;
  if (waiting.size() >= options_.waiting) {
    auto full = unavailable(503, "too many requests wait for a connection");
    full.retry_after_seconds = 1;
    return request.done(fail(std::move(full)));
  }
  waiting.insert(first ? waiting.begin() : waiting.end(), {std::move(request), std::chrono::steady_clock::now()});
  pump();
  keep_ticking();
}

/// Makes a connection for each request that waits, as far as there may be more.
void Http1Hop::pump() {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    while (!closed_ && lanes_[lane].opening < lanes_[lane].waiting.size() && has_room(lane)) open(lane);
  }
}

bool Http1Hop::has_room(std::size_t lane) {
  if (lines_.size() + opening() < options_.connections) return true;
  // What is kept for one identity makes place for another.
  auto& others = lanes_[lane == kOwn ? kBare : kOwn].idle;
  if (others.empty()) return false;
  const auto oldest = lines_.at(others.front()).connection;
  oldest->close();
  return lines_.size() + opening() < options_.connections;
}

void Http1Hop::open(std::size_t lane) {
  ++lanes_[lane].opening;
  auto done = [weak = weak_from_this(), lane](Result<asio::ip::tcp::socket> socket) {
    const auto self = weak.lock();
    if (!self || self->closed_) return;
    if (!socket) return self->could_not_open(lane, std::move(socket).error());
    self->connect(lane, std::move(*socket));
  };
  if (options_.connect) return options_.connect(std::move(done));
  dial_by(executor_, options_.proxy, address_.host, address_.port, options_.dial, std::move(done));
}

void Http1Hop::connect(std::size_t lane_number, asio::ip::tcp::socket socket) {
  Lane& lane = lanes_[lane_number];
  const int descriptor = socket.native_handle();
  keep_alive(descriptor);
  std::unique_ptr<serve::SocketStream> stream;
  Line line;
  line.lane = lane_number;
  line.generation = lane.generation;
  if (address_.tls) {
    auto tls = serve::TlsStream::connect(descriptor, lane.tls->native_handle(), options_.tls_server_name);
    line.tls = tls.get();
    stream = std::move(tls);
  } else {
    stream = serve::make_plain_stream(descriptor);
  }
  if (!stream) {
    return could_not_open(lane_number, Error{.code = 502,
                                             .category = Category::kTls,
                                             .message = "no certificate can be for \"" + options_.tls_server_name + "\""});
  }
  serve::HttpLimits limits;
  limits.handshake = options_.handshake;
  limits.idle = options_.idle;
  limits.stuck = std::chrono::hours(24 * 365);  // who has a pod read its input later, waits
  auto connection = std::make_shared<serve::Connection>(std::move(socket), std::move(stream), limits, nullptr);
  line.connection = connection;
  lines_.emplace(connection.get(), std::move(line));
  ++made_;
  keep_ticking();
  connection->start(
      [weak = weak_from_this(), raw = connection.get()](serve::ProtocolHost host,
                                                        const serve::SocketStream&) -> std::shared_ptr<serve::Protocol> {
        const auto self = weak.lock();
        return self ? self->opened(raw, std::move(host)) : nullptr;
      },
      [weak = weak_from_this()](const std::shared_ptr<serve::Connection>& closed) {
        if (const auto self = weak.lock()) self->gone(closed);
      });
}

std::shared_ptr<serve::Protocol> Http1Hop::opened(serve::Connection* connection, serve::ProtocolHost host) {
  const auto at = lines_.find(connection);
  if (at == lines_.end()) return nullptr;
  Line& line = at->second;
  line.client = std::make_shared<Http1Client>(std::move(host), options_.window, [weak = weak_from_this(), connection] {
    if (const auto self = weak.lock()) self->rested(connection);
  });
  --lanes_[line.lane].opening;
  const auto client = line.client;
  rested(connection);
  return client;
}

/// One of those that wait gets to know; the others have connections of their own under way, or get them now.
void Http1Hop::could_not_open(std::size_t lane_number, Error error) {
  Lane& lane = lanes_[lane_number];
  --lane.opening;
  if (!lane.waiting.empty()) {
    const auto done = std::move(lane.waiting.front().request.done);
    lane.waiting.pop_front();
    done(fail(std::move(error)));
  }
  pump();
}

void Http1Hop::rested(serve::Connection* connection) {
  const auto at = lines_.find(connection);
  if (at == lines_.end()) return;
  Lane& lane = lanes_[at->second.lane];
  if (at->second.generation != lane.generation) return at->second.client->retire();
  if (lane.waiting.empty()) {
    lane.idle.push_back(connection);
    const Lane& other = lanes_[at->second.lane == kOwn ? kBare : kOwn];
    if (other.waiting.empty()) return;
    // It may have to make place for the other identity, and is in the middle of something.
    return asio::post(executor_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->pump();
    });
  }
  auto request = std::move(lane.waiting.front().request);
  lane.waiting.pop_front();
  at->second.client->begin(std::move(request));
}

void Http1Hop::gone(const std::shared_ptr<serve::Connection>& connection) {
  const auto at = lines_.find(connection.get());
  if (at == lines_.end()) return;
  const Line line = std::move(at->second);
  lines_.erase(at);
  if (!line.client) {
    if (std::chrono::steady_clock::now() - line.since < options_.handshake) {
      return could_not_open(line.lane, handshake_error(line.tls));
    }
    return could_not_open(line.lane,
                          {.code = 504, .category = Category::kTimeout, .message = "the TLS handshake is not done in time"});
  }
  std::erase(lanes_[line.lane].idle, connection.get());
  const bool whole = !line.failure && (line.tls == nullptr || (SSL_get_shutdown(line.tls->ssl()) & SSL_RECEIVED_SHUTDOWN) != 0);
  const Error why = line.failure.value_or(unavailable(502, "the connection broke before an answer came"));
  if (auto back = line.client->closed(whole, why)) {
    if (line.failure || back->repeated) {
      back->done(fail(why));
    } else {
      back->repeated = true;
      wait(std::move(*back), line.lane, true);
    }
  }
  pump();
}

/// For as long as there is something to look at.
void Http1Hop::keep_ticking() {
  const bool needed = !lines_.empty() || std::ranges::any_of(lanes_, [](const Lane& lane) { return !lane.waiting.empty(); });
  if (ticking_ || closed_ || !needed) return;
  ticking_ = true;
  timer_.expires_after(kHopTick);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code&) {
    const auto self = weak.lock();
    if (!self) return;
    self->ticking_ = false;
    if (!self->closed_) self->tick();
  });
}

void Http1Hop::tick() {
  const auto now = std::chrono::steady_clock::now();
  std::vector<std::shared_ptr<serve::Connection>> connections;
  connections.reserve(lines_.size());
  for (const auto& [raw, line] : lines_) connections.push_back(line.connection);
  for (const auto& connection : connections) {
    connection->tick(now);
    const auto at = lines_.find(connection.get());
    if (at == lines_.end() || !at->second.client) continue;
    const auto since = at->second.client->waits_since();
    if (!since || now - *since < options_.head) continue;
    at->second.failure = Error{.code = 504, .category = Category::kTimeout, .message = "no answer in time"};
    connection->close();
  }
  for (auto& lane : lanes_) {
    while (!lane.waiting.empty() && now - lane.waiting.front().since > options_.queue) {
      const auto done = std::move(lane.waiting.front().request.done);
      lane.waiting.pop_front();
      done(fail(Error{.code = 504, .category = Category::kTimeout, .message = "no connection in time"}));
    }
  }
  keep_ticking();
}

}  // namespace fleetadm::proxy
