#include "core/controller/health_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <exception>
#include <list>
#include <optional>
#include <thread>

#include "kubeclient/base/host_port.h"
#include "kubeclient/base/log.h"

namespace fleetadm::controller {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;

constexpr auto kHeaderTimeout = std::chrono::seconds(3);  // for a request, once the connection is there or was answered
constexpr auto kAnswerTimeout = std::chrono::seconds(10);
constexpr std::size_t kMaxConnections = 64;
constexpr std::size_t kMaxHeader = 8 * 1024;

struct Address {
  std::string host;
  std::uint16_t port = 0;
};

Result<Address> parse_address(const std::string& text) {
  const auto parts = split_host_port(text);
  const auto port = parts ? parse_port(parts->port) : std::nullopt;
  if (!port) {
    return fail(Category::kUsage, "\"" + text + "\" is no listen address",
                "write host:port, for example 127.0.0.1:8080 or :8080");
  }
  return Address{parts->host == "localhost" ? "127.0.0.1" : parts->host, *port};
}

class Session;
/// The connections that are open, the one that has waited longest for a request first.
using Sessions = std::list<std::weak_ptr<Session>>;

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, std::shared_ptr<const HealthServer::Handler> handler, std::shared_ptr<Sessions> open)
      : stream_(std::move(socket)), handler_(std::move(handler)), open_(std::move(open)) {
    beast::error_code error;
    const auto peer = stream_.socket().remote_endpoint(error).address();
    local_ = !error && is_local(peer);
  }
  ~Session() {
    if (place_ != open_->end()) open_->erase(place_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void begin() {
    place_ = open_->insert(open_->end(), weak_from_this());
    read();
  }
  void end() {
    to_the_back();
    stream_.close();
  }

 private:
  static bool is_local(const asio::ip::address& peer) {
    if (peer.is_v4()) return peer.is_loopback();
    const auto address = peer.to_v6();
    return address.is_v4_mapped() ? asio::ip::make_address_v4(asio::ip::v4_mapped, address).is_loopback() : address.is_loopback();
  }

  void to_the_back() { open_->splice(open_->end(), *open_, place_); }

  void read() {
    to_the_back();
    parser_.emplace();
    parser_->header_limit(kMaxHeader);
    parser_->body_limit(0);
    stream_.expires_after(kHeaderTimeout);
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](beast::error_code error, std::size_t) {
      if (!error) self->answer();
    });
  }

  void answer() {
    to_the_back();
    const auto& request = parser_->get();
    const bool head = request.method() == http::verb::head;
    Manager::Page page;
    if (request.method() != http::verb::get && !head) {
      page = {405, "text/plain; charset=utf-8", "only GET\n"};
    } else {
      const std::string target(request.target());
      try {
        page = (*handler_)({std::string_view(target).substr(0, target.find('?')), local_});
      } catch (const std::exception&) {
        page = {500, "text/plain; charset=utf-8", "internal error\n"};
      }
    }
    response_ = {};
    response_.version(request.version());
    response_.result(static_cast<unsigned>(page.status));
    response_.set(http::field::content_type, page.content_type);
    response_.set("X-Content-Type-Options", "nosniff");
    response_.keep_alive(request.keep_alive());
    response_.body() = std::move(page.body);
    response_.prepare_payload();
    if (head) response_.body().clear();
    stream_.expires_after(kAnswerTimeout);
    http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code error, std::size_t) {
      if (error || !self->response_.keep_alive()) return;
      self->read();
    });
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{kMaxHeader * 2};
  std::optional<http::request_parser<http::empty_body>> parser_;
  http::response<http::string_body> response_;
  std::shared_ptr<const HealthServer::Handler> handler_;
  std::shared_ptr<Sessions> open_;
  Sessions::iterator place_ = open_->end();
  bool local_ = false;
};

class BeastServer final : public HealthServer {
 public:
  explicit BeastServer(Handler handler) : handler_(std::make_shared<const Handler>(std::move(handler))) {}
  ~BeastServer() override {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }
  BeastServer(const BeastServer&) = delete;
  BeastServer& operator=(const BeastServer&) = delete;

  Status listen(const std::string& text) {
    FLEETADM_TRY(const Address address, parse_address(text));
    beast::error_code error;
    tcp::endpoint endpoint(tcp::v4(), address.port);
    if (!address.host.empty()) {
      const auto ip = asio::ip::make_address(address.host, error);
      if (error) {
        return fail(Category::kUsage, "\"" + text + "\" is no listen address", "the host must be an IP address or localhost");
      }
      endpoint = tcp::endpoint(ip, address.port);
    }
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      return fail(Category::kUnavailable, "cannot listen on " + text + ": " + error.message(), "choose another --health-address");
    }
    accept();
    thread_ = std::thread([this] {
      try {
        context_.run();
      } catch (const std::exception& problem) {
        log::error("health", std::string("the health server ended: ") + problem.what());
      }
    });
    return {};
  }

  std::string endpoint() const override {
    beast::error_code error;
    const auto local = acceptor_.local_endpoint(error);
    if (error) return {};
    const std::string host = local.address().to_string();
    return (local.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(local.port());
  }

 private:
  void accept() {
    acceptor_.async_accept([this](beast::error_code error, tcp::socket socket) {
      if (!acceptor_.is_open()) return;
      if (error) {
        // Out of descriptors or the like: breathe instead of spinning.
        pause_.expires_after(std::chrono::milliseconds(100));
        pause_.async_wait([this](beast::error_code stopped) {
          if (!stopped) accept();
        });
        return;
      }
      if (open_->size() >= kMaxConnections) {
        if (const auto oldest = open_->front().lock()) oldest->end();
      }
      std::make_shared<Session>(std::move(socket), handler_, open_)->begin();
      accept();
    });
  }

  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  asio::steady_timer pause_{context_};
  std::shared_ptr<const Handler> handler_;
  std::shared_ptr<Sessions> open_ = std::make_shared<Sessions>();
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<HealthServer>> HealthServer::start(const std::string& address, Handler handler) {
  try {
    auto server = std::make_unique<BeastServer>(std::move(handler));
    FLEETADM_CHECK(server->listen(address));
    return server;
  } catch (const std::exception& problem) {
    return fail(Category::kUnavailable, "cannot start the health server on " + address + ": " + problem.what());
  }
}

}  // namespace fleetadm::controller
