#include "kubeclient/transport/upgrade.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <curl/curl.h>
#include <optional>
#include <poll.h>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/log.h"
#include "kubeclient/config/credentials.h"
#include "kubeclient/transport/request_options.h"
#include "kubeclient/transport/trust_store.h"

namespace fleetadm::kube {
namespace {

using UpgradeTime = std::chrono::steady_clock::time_point;

constexpr std::size_t kMaxUpgradeHead = std::size_t{64} * 1024;
constexpr std::size_t kMaxRefusal = std::size_t{64} * 1024;
constexpr std::size_t kReadSize = std::size_t{16} * 1024;
constexpr std::size_t kMaxReceived = std::size_t{64} * 1024;
constexpr auto kMostPatience = std::chrono::hours(24);

UpgradeTime until(Duration patience) {
  return std::chrono::steady_clock::now() +
         std::clamp<std::chrono::steady_clock::duration>(patience, Duration::zero(), kMostPatience);
}

class CurlConnection final : public UpgradedConnection {
 public:
  CurlConnection(const RestConfig& config, const Endpoint& endpoint)
      : config_(config), endpoint_(endpoint), trusted_(trust_store(config.ca_data)) {}

  /// TCP, proxy and TLS.
  Status connect(const Credentials& credentials, UpgradeTime deadline) {
    easy_.reset(curl_easy_init());
    if (!easy_) return fail(Category::kInternal, "out of memory");
    CURL* easy = easy_.get();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    curl_easy_setopt(easy, CURLOPT_URL, server_url(config_, endpoint_).c_str());
    curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, detail_.data());
    set_connection_options(easy, config_, endpoint_, credentials, trusted_.get(), connect_to_);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(std::clamp<std::int64_t>(left, 1, 24LL * 3600 * 1000)));
    if (const auto code = curl_easy_perform(easy); code != CURLE_OK)
      return fail(connection_error(failure_of(easy, code, detail_.data()), config_, endpoint_));
    curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &socket_);
    if (socket_ == CURL_SOCKET_BAD) return fail(Category::kInternal, "libcurl has no socket for the connection");
    return {};
  }

  Result<std::size_t> send(std::string_view bytes, Duration patience) override {
    const auto deadline = until(patience);
    std::size_t taken = 0;
    while (true) {
      FLEETADM_TRY(const bool all, flush());
      if (all && taken == bytes.size()) return taken;
      if (all) {
        writing_.assign(bytes.substr(taken, kReadSize));
        written_ = 0;
        taken += writing_.size();
      } else if (!wait(POLLOUT, deadline)) {
        return taken;
      }
    }
  }
  bool unsent() const override { return written_ < writing_.size(); }

  Result<bool> receive(std::string& into, Duration patience) override {
    const auto deadline = until(patience);
    std::array<char, kReadSize> buffer;
    const auto before = into.size();
    while (into.size() - before < kMaxReceived) {
      std::size_t size = 0;
      const auto code = curl_easy_recv(easy_.get(), buffer.data(), buffer.size(), &size);
      if (code == CURLE_OK && size > 0) {
        into.append(buffer.data(), size);
      } else if (into.size() > before) {
        break;  // an end or an error is told the next time
      } else if (code != CURLE_AGAIN) {
        return gone();
      } else if (!wait(POLLIN, deadline)) {
        return false;
      }
    }
    return true;
  }
  int descriptor() const override { return socket_; }

 private:
  tl::unexpected<Error> gone() const {
    Error error = fail(Category::kUnavailable, "the connection to " + endpoint_.authority() + " was closed").value();
    error.reason = "ConnectionCut";
    error.cluster = config_.name;
    return fail(std::move(error));
  }
  /// TLS demands that a write that could not go out is tried again as it was: the piece is kept until then.
  Result<bool> flush() {
    while (unsent()) {
      std::size_t sent = 0;
      const auto code = curl_easy_send(easy_.get(), writing_.data() + written_, writing_.size() - written_, &sent);
      if (code == CURLE_AGAIN) return false;
      if (code != CURLE_OK) return gone();
      written_ += sent;
    }
    return true;
  }
  bool wait(short events, UpgradeTime deadline) const {
    while (true) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
      if (left <= 0) return false;
      pollfd ready{.fd = socket_, .events = events, .revents = 0};
      const int count = ::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
      if (count > 0) return true;
      if (count < 0 && errno != EINTR) return false;
    }
  }

  const RestConfig config_;
  const Endpoint endpoint_;
  const std::shared_ptr<X509_STORE> trusted_;
  std::array<char, CURL_ERROR_SIZE> detail_{};
  CurlList connect_to_{nullptr, &curl_slist_free_all};
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy_{nullptr, &curl_easy_cleanup};
  curl_socket_t socket_ = CURL_SOCKET_BAD;
  std::string writing_;
  std::size_t written_ = 0;
};

class Handshake {
 public:
  Handshake(const RestConfig& config, const Request& request, std::string_view protocol, Endpoint endpoint)
      : config_(config),
        request_(request),
        protocol_(protocol),
        endpoint_(std::move(endpoint)),
        deadline_(until(request.timeout > Duration::zero() ? request.timeout : kMostPatience)) {}

  Result<UpgradeAnswer> ask() {
    FLEETADM_TRY(const Credentials credentials, current_credentials());
    FLEETADM_TRY(const std::string head, request_head(credentials));
    auto connection = std::make_unique<CurlConnection>(config_, endpoint_);
    FLEETADM_CHECK(connection->connect(credentials, deadline_));
    for (std::string_view rest = head; !rest.empty() || connection->unsent();) {
      FLEETADM_TRY(const std::size_t taken, connection->send(rest, slice()));
      rest.remove_prefix(taken);
      FLEETADM_CHECK(in_time());
    }
    FLEETADM_TRY(Response response, read_head(*connection));
    log::info(5, "http", std::string(to_string(request_.method)) + " " + request_.path + " " + std::to_string(response.status));
    if (response.status == 101) {
      const auto agreed = response.headers.find("upgrade");
      if (agreed == response.headers.end() || lower_case(agreed->second) != lower_case(protocol_))
        return fail(error(Category::kInvalid, "the server switched to another protocol than " + std::string(protocol_)));
      // What came behind the head is the new protocol's.
      return UpgradeAnswer{std::move(response), std::make_unique<Begun>(std::exchange(rest_, {}), std::move(connection))};
    }
    read_refusal(*connection, response);
    return UpgradeAnswer{std::move(response), nullptr};
  }

 private:
  /// A connection of which some bytes were read with the answer's head.
  class Begun final : public UpgradedConnection {
   public:
    Begun(std::string early, std::unique_ptr<UpgradedConnection> connection)
        : early_(std::move(early)), connection_(std::move(connection)) {}
    Result<std::size_t> send(std::string_view bytes, Duration patience) override { return connection_->send(bytes, patience); }
    bool unsent() const override { return connection_->unsent(); }
    Result<bool> receive(std::string& into, Duration patience) override {
      if (early_.empty()) return connection_->receive(into, patience);
      into += std::exchange(early_, {});
      return true;
    }
    int descriptor() const override { return connection_->descriptor(); }

   private:
    std::string early_;
    std::unique_ptr<UpgradedConnection> connection_;
  };

  Error error(Category category, std::string message) const {
    Error out = fail(category, std::move(message)).value();
    out.cluster = config_.name;
    return out;
  }
  /// Waits are short, so that a stop is noticed.
  static Duration slice() { return std::chrono::milliseconds(200); }
  Status in_time() const {
    if (request_.stop.stop_requested()) return fail(Category::kCancelled, "cancelled");
    if (std::chrono::steady_clock::now() < deadline_) return {};
    return fail(error(Category::kTimeout, endpoint_.authority() + " did not answer in time"));
  }

  Result<Credentials> current_credentials() const {
    const auto& source = config_.credentials;
    if (!source || endpoint_.scheme != "https") return Credentials{};  // over plain http no credential leaves the process
    return source->current_within(deadline_, request_.stop);
  }

  Result<std::string> request_head(const Credentials& credentials) const {
    if (std::any_of(request_.path.begin(), request_.path.end(),
                    [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; }))
      return fail(Category::kUsage, "the request's path holds spaces or control characters");
    FLEETADM_TRY(auto headers, request_headers(config_, endpoint_, request_));
    const auto has = [&](std::string_view name) {
      return std::any_of(headers.begin(), headers.end(), [&](const auto& one) { return lower_case(one.first) == name; });
    };
    if (!has("host")) headers.emplace_back("Host", endpoint_.unix_socket.empty() ? endpoint_.authority() : endpoint_.host);
    if (!has("user-agent"))
      headers.emplace_back("User-Agent", config_.user_agent.empty() ? default_user_agent() : config_.user_agent);
    headers.emplace_back("Connection", "Upgrade");
    headers.emplace_back("Upgrade", protocol_);
    if (request_.method != Method::kGet) headers.emplace_back("Content-Length", "0");
    if (!credentials.token.empty()) {
      FLEETADM_TRY(std::string value, bearer(credentials));
      headers.emplace_back("Authorization", std::move(value));
    } else if (!credentials.username.empty()) {
      headers.emplace_back("Authorization", "Basic " + base64_encode(credentials.username + ":" + credentials.password));
    }
    std::string head = std::string(to_string(request_.method)) + " " + endpoint_.prefix + request_.path +
                       encode_query(request_.query) + " HTTP/1.1\r\n";
    for (const auto& [name, value] : headers) {
      if (log::enabled(7)) log_header("> ", name + ": " + value);
      head += name + ": " + value + "\r\n";
    }
    return head + "\r\n";
  }

  Result<Response> read_head(UpgradedConnection& connection) {
    while (true) {
      auto end = rest_.find("\r\n\r\n");
      while (end == std::string::npos) {
        if (rest_.size() > kMaxUpgradeHead) return fail(error(Category::kInvalid, "the head of the server's answer is too long"));
        FLEETADM_CHECK(in_time());
        FLEETADM_TRY(const bool more, connection.receive(rest_, slice()));
        static_cast<void>(more);
        end = rest_.find("\r\n\r\n");
      }
      const std::string head = rest_.substr(0, end + 2);
      rest_.erase(0, end + 4);
      FLEETADM_TRY(Response response, parse_head(head));
      if (response.status == 101 || response.status >= 200) return response;
    }
  }

  Result<Response> parse_head(std::string_view head) const {
    Response response;
    const auto line = head.substr(0, head.find("\r\n"));
    const auto bad = [this] { return fail(error(Category::kInvalid, "the server's answer is not HTTP/1.1")); };
    if (!line.starts_with("HTTP/1.") || line.size() < 12 || line[8] != ' ') return bad();
    const auto [end, wrong] = std::from_chars(line.data() + 9, line.data() + 12, response.status);
    if (wrong != std::errc() || end != line.data() + 12 || response.status < 100) return bad();
    head.remove_prefix(line.size() + 2);
    while (!head.empty()) {
      const auto field = head.substr(0, head.find("\r\n"));
      head.remove_prefix(field.size() + 2);
      const auto colon = field.find(':');
      if (colon == std::string_view::npos) return bad();
      auto& slot = response.headers[lower_case(field.substr(0, colon))];
      slot += (slot.empty() ? "" : ", ") + std::string(trimmed(field.substr(colon + 1)));
    }
    return response;
  }

  /// As much of the body as tells why. Without it the status alone does.
  void read_refusal(UpgradedConnection& connection, Response& response) {
    if (response.headers.contains("transfer-encoding")) return;
    std::size_t length = kMaxRefusal;
    if (const auto at = response.headers.find("content-length"); at != response.headers.end()) {
      std::size_t told = 0;
      std::from_chars(at->second.data(), at->second.data() + at->second.size(), told);
      length = std::min(told, kMaxRefusal);
    }
    while (rest_.size() < length && in_time()) {
      if (!connection.receive(rest_, slice())) break;
    }
    response.body = std::exchange(rest_, {}).substr(0, length);
  }

  const RestConfig& config_;
  const Request& request_;
  const std::string protocol_;
  const Endpoint endpoint_;
  const UpgradeTime deadline_;
  std::string rest_;  // read and not used yet
};

}  // namespace

Result<UpgradeAnswer> upgrade_connection(const RestConfig& config, const Request& request, std::string_view protocol) {
  auto endpoint = parse_endpoint(config);
  if (!endpoint) return fail(endpoint.error().with_cluster(config.name));
  Handshake handshake(config, request, protocol, std::move(*endpoint));
  FLEETADM_TRY(UpgradeAnswer answer, handshake.ask());
  if (answer.response.status != 401 || !config.credentials || !config.credentials->refresh()) return answer;
  return handshake.ask();
}

}  // namespace fleetadm::kube
