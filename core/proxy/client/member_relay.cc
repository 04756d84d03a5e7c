#include "core/proxy/client/member_relay.h"

#include <atomic>
#include <boost/asio/post.hpp>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <openssl/crypto.h>
#include <stop_token>
#include <thread>
#include <utility>

#include "core/proxy/hop/error_answer.h"
#include "core/proxy/hop/headers.h"
#include "core/proxy/hop/http1_hop.h"
#include "core/serve/http/server.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/authority.h"

namespace fleetadm::proxy {
namespace {

constexpr auto kAskAgain = std::chrono::minutes(1);
constexpr auto kCertificateLife = std::chrono::hours(24 * 7);
constexpr const char* kMemberTokenHeader = "fleetadm-member-token";

/// What was read last, for a thread that must not wait.
class LastRead final : public kube::CredentialSource {
 public:
  LastRead(std::shared_ptr<kube::CredentialSource> source, std::function<Result<std::string>()> member_token)
      : source_(std::move(source)), member_token_(std::move(member_token)) {}

  /// May block.
  Status read() {
    Result<kube::Credentials> credentials = source_ ? source_->current() : kube::Credentials{};
    Result<std::string> token = member_token_();
    const std::scoped_lock lock(mutex_);
    if (credentials) credentials_ = std::move(*credentials);
    if (token) token_ = std::move(*token);
    if (!credentials) return fail(credentials.error());
    if (!token) return fail(token.error());
    return {};
  }
  Result<kube::Credentials> current() override {
    const std::scoped_lock lock(mutex_);
    return credentials_;
  }
  bool refresh() override {
    stale_ = true;
    return false;
  }
  std::string member_token() const {
    const std::scoped_lock lock(mutex_);
    return token_;
  }
  /// The gateway has refused the credentials: the source is to get new ones.
  bool take_stale() {
    if (!stale_.exchange(false)) return false;
    if (source_) source_->refresh();
    return true;
  }

 private:
  const std::shared_ptr<kube::CredentialSource> source_;
  const std::function<Result<std::string>()> member_token_;
  mutable std::mutex mutex_;
  kube::Credentials credentials_;
  std::string token_;
  std::atomic<bool> stale_{false};
};

bool brings(const serve::HttpRequest& request, const std::string& token) {
  const std::string wanted = "Bearer " + token;
  const auto all = request.all("authorization");
  return all.size() == 1 && all.front().size() == wanted.size() &&
         CRYPTO_memcmp(all.front().data(), wanted.data(), wanted.size()) == 0;
}

}  // namespace

struct MemberRelay::Inner {
  std::string token;
  std::string ca;
  std::shared_ptr<LastRead> read;
  serve::HttpRuntime runtime{0};
  std::shared_ptr<Http1Hop> hop;  // of the I/O thread
  std::unique_ptr<serve::HttpListener> listener;
  std::jthread reader;

  ~Inner() {
    reader = {};
    listener.reset();
    if (hop) {
      std::promise<void> closed;
      boost::asio::post(runtime.executor(), [&] {
        hop->close();
        hop.reset();
        closed.set_value();
      });
      closed.get_future().wait();
    }
    runtime.stop();
  }

  Status make_hop(const kube::RestConfig& member) {
    Http1HopOptions options;
    options.name = "the gateway";
    options.server = member.server;
    options.ca = member.ca_data;
    options.credentials = read;
    FLEETADM_TRY(hop, Http1Hop::make(runtime.executor(), std::move(options)));
    return {};
  }

  void answer(serve::HttpRequest request, serve::Reply reply) {
    if (!brings(request, token)) {
      Error refused = fail(Category::kAuth, "the token is not that of this relay").value();
      refused.code = 401;
      return reply(error_answer(refused));
    }
    drop_identity_headers(request.headers);
    request.headers.emplace_back(kMemberTokenHeader, read->member_token());
    hop->send(std::move(request), [reply = std::move(reply)](Result<serve::HttpResponse> answer) {
      reply(answer ? std::move(*answer) : error_answer(answer.error()));
    });
  }

  Status listen() {
    FLEETADM_TRY(const auto authority,
                 pki::renew_authority(std::nullopt, "fleetadm relay CA", kCertificateLife, Clock::system()->now()));
    ca = authority.bundle;
    serve::ListenOptions options;
    options.loopback_only = true;
    FLEETADM_TRY(options.certificate,
                 pki::issue_serving(authority, "fleetadm relay", {"localhost"}, {"127.0.0.1"}, kCertificateLife));
    options.streams_body = [](const serve::HttpRequest&) { return true; };
    FLEETADM_TRY(listener,
                 serve::HttpListener::start_direct(runtime, options, [this](serve::HttpRequest request, serve::Reply reply) {
                   answer(std::move(request), std::move(reply));
                 }));
    return {};
  }

  void keep_reading() {
    reader = std::jthread([read = read](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any wake;
      auto last = std::chrono::steady_clock::now();
      std::unique_lock lock(mutex);
      while (!wake.wait_for(lock, stop, std::chrono::seconds(1), [&] { return stop.stop_requested(); })) {
        const auto now = std::chrono::steady_clock::now();
        if (!read->take_stale() && now - last < kAskAgain) continue;
        last = now;
        // What was read before is used until there is something newer.
        [[maybe_unused]] const Status ignored = read->read();
      }
    });
  }
};

MemberRelay::MemberRelay(std::unique_ptr<Inner> inner) : inner_(std::move(inner)) {}
MemberRelay::~MemberRelay() = default;

Result<std::unique_ptr<MemberRelay>> MemberRelay::start(Options options) {
  auto inner = std::make_unique<Inner>();
  inner->token = random_uuid() + random_uuid();
  inner->read = std::make_shared<LastRead>(options.member.credentials, std::move(options.member_token));
  FLEETADM_CHECK(inner->read->read());
  FLEETADM_CHECK(inner->make_hop(options.member));
  FLEETADM_CHECK(inner->listen());
  inner->keep_reading();
  return std::unique_ptr<MemberRelay>(new MemberRelay(std::move(inner)));
}

std::string MemberRelay::server() const { return "https://" + inner_->listener->endpoint(); }
const std::string& MemberRelay::ca() const { return inner_->ca; }
const std::string& MemberRelay::token() const { return inner_->token; }

}  // namespace fleetadm::proxy
