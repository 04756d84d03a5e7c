#include "core/gateway/push_ways.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/proxy/hop/client_left.h"
#include "core/proxy/hop/error_answer.h"
#include "core/proxy/hop/request_head.h"
#include "core/proxy/member/granted_hop.h"
#include "core/proxy/member/member_hop.h"
#include "kubeclient/base/log.h"

namespace fleetadm::gateway {
namespace {

namespace r = kube::resources;

constexpr const char* kPushLog = "gateway";
constexpr auto kReadAgain = std::chrono::seconds(60);  // the hub renews a token long before the last one ends
constexpr auto kSuspectAgain = std::chrono::seconds(1);
constexpr auto kSecretPatience = std::chrono::seconds(10);
constexpr auto kMemberPatience = std::chrono::seconds(5);
constexpr std::size_t kMostWaiting = 1024;

Error push_error(int code, Category category, std::string message) {
  return {.code = code, .category = category, .message = std::move(message), .retry_after_seconds = code == 503 ? 1 : 0};
}

/// It was refused here, for what it asks or for who asks.
bool is_about_request(const Error& error) { return error.code == 400 || error.code == 403; }

bool may_everything(const push::Credential& credential) { return credential.account.acts_as.empty(); }

Error of_member(const Error& error, const std::string& what) {
  const bool silent = error.category == Category::kTimeout;
  return push_error(silent ? 504 : 502, error.category, what + ": " + error.message);
}

/// Whom the credential belongs to, asked of whoever answers at the address.
std::optional<Error> other_cluster(const push::Credential& credential, const std::stop_token& stop) {
  kube::RestConfig config = credential.access.config;
  config.credentials = std::make_shared<join::MemberCredentials>(credential.access.credentials);
  const auto client = kube::Client::connect(config).with_timeout(kMemberPatience).with_stop(stop);
  const auto system = client.get(r::namespaces(), "", "kube-system");
  if (!system) {
    const bool refused = system.error().code == 401;
    return of_member(system.error(), refused ? "it refuses the hub's credential" : "cannot tell which cluster it is");
  }
  if (uid_of(*system) == credential.cluster_id) return std::nullopt;
  return push_error(502, Category::kTls, "another cluster answers at its address");
}

}  // namespace

class PushWays::Way final : public proxy::Hop {
 public:
  Way(std::weak_ptr<PushWays> ways, std::string cluster) : ways_(std::move(ways)), cluster_(std::move(cluster)) {}
  void send(serve::HttpRequest request, Done done) override {
    if (const auto ways = ways_.lock()) return ways->send(cluster_, std::move(request), std::move(done));
    done(fail(push_error(503, Category::kUnavailable, "shutting down")));
  }

 private:
  std::weak_ptr<PushWays> ways_;
  std::string cluster_;
};

PushWays::PushWays(serve::HttpRuntime& runtime, const kube::Client& hub)
    : runtime_(runtime), hub_(hub.with_timeout(kSecretPatience)), grants_(std::make_shared<PushGrants>(hub)) {}

std::shared_ptr<proxy::Hop> PushWays::way_to(std::string_view cluster) {
  return std::make_shared<Way>(weak_from_this(), std::string(cluster));
}

void PushWays::send(const std::string& cluster, serve::HttpRequest request, proxy::Hop::Done done) {
  if (closed_) return done(fail(push_error(503, Category::kUnavailable, "shutting down")));
  Member& member = members_[cluster];
  const auto age = Steady::now() - member.read;
  const bool again = age >= (member.suspect ? Steady::duration(kSuspectAgain) : Steady::duration(kReadAgain));
  if (member.line && !again) return pass(cluster, member.line, {std::move(request), std::move(done)});
  if (member.trouble && age < kSuspectAgain) return fail_with(*member.trouble, done);
  if (member.waiting.size() >= kMostWaiting)
    return done(fail(push_error(503, Category::kUnavailable, "too many requests wait for its credential")));
  member.waiting.push_back({std::move(request), std::move(done)});
  if (member.reading == 0) begin_reading(cluster, member);
}

void PushWays::pass(const std::string& cluster, const std::shared_ptr<const Line>& line, Waiting one) {
  if (one.request.left.stop_requested()) return one.done(fail(proxy::client_left()));
  line->entry->send(std::move(one.request),
                    [weak = weak_from_this(), cluster, line, done = std::move(one.done)](Result<serve::HttpResponse> answer) {
                      if (answer || answer.error().category == Category::kCancelled || is_about_request(answer.error()))
                        return done(std::move(answer));
                      if (const auto self = weak.lock()) {
                        const auto found = self->members_.find(cluster);
                        if (found != self->members_.end() && found->second.line == line) found->second.suspect = true;
                      }
                      done(proxy::error_answer(answer.error(), proxy::hop_names::kMember));
                    });
}

void PushWays::begin_reading(const std::string& cluster, Member& member) {
  member.reading = ++readings_;
  auto before = member.line ? std::optional(member.line->credential) : std::nullopt;
  const bool begun = runtime_.work([weak = weak_from_this(), runtime = &runtime_, hub = hub_, grants = grants_, cluster,
                                    before = std::move(before), reading = member.reading, stop = stop_.get_token()] {
    grants->begin();
    auto found = std::make_shared<Read>(read(*runtime, hub.with_stop(stop), cluster, before, stop));
    if (found->credential && may_everything(*found->credential)) runtime->wait_outside([&] { grants->wait_known(stop); });
    boost::asio::post(runtime->executor(), [weak, cluster, reading, found] {
      if (const auto self = weak.lock()) self->was_read(cluster, reading, std::move(*found));
    });
  });
  if (begun) return;
  was_read(cluster, member.reading,
           {std::nullopt, Trouble{push_error(503, Category::kUnavailable, "the gateway is busy"), Trouble::kHubsAnswer}});
}

/// Address, CA and token are of one Secret, so that no token goes to an address that came from elsewhere; behind a new address,
/// the cluster that joined is looked for before any caller's request goes there.
PushWays::Read PushWays::read(serve::HttpRuntime& runtime, const kube::Client& hub, const std::string& cluster,
                              const std::optional<push::Credential>& before, const std::stop_token& stop) {
  const auto trouble = [](Error error, Trouble::Where where) { return Read{std::nullopt, Trouble{std::move(error), where}}; };
  const auto secret = hub.find(r::secrets(), api::kPushNamespace, cluster);
  if (!secret) {
    log::warn(kPushLog, "the credential of " + cluster + ": " + secret.error().message);
    return trouble(push_error(503, Category::kUnavailable,
                              secret.error().category == Category::kAuth
                                  ? "the gateway may not read the hub's credentials of clusters that it dials"
                                  : "the hub's API server did not give its credential"),
                   Trouble::kHubsAnswer);
  }
  if (!*secret || label_of(**secret, api::kPushMemberLabel) != cluster)
    return trouble(push_error(503, Category::kUnavailable, "the hub has no credential for it"), Trouble::kHubsCredential);
  auto credential = push::credential_of(**secret);
  if (!credential) {
    return trouble(push_error(503, Category::kUnavailable, "the hub's credential cannot be used: " + credential.error().message),
                   Trouble::kHubsCredential);
  }
  if (before && push::leads_to_the_same(*before, *credential)) return {std::move(*credential), std::nullopt};
  std::optional<Error> other;
  runtime.wait_outside([&] { other = other_cluster(*credential, stop); });
  if (other) return trouble(std::move(*other), Trouble::kMember);
  return {std::move(*credential), std::nullopt};
}

void PushWays::was_read(const std::string& cluster, std::uint64_t reading, Read read) {
  const auto found = members_.find(cluster);
  if (closed_ || found == members_.end() || found->second.reading != reading) return;  // it was cut meanwhile
  Member& member = found->second;
  member.reading = 0;
  member.read = Steady::now();
  member.suspect = false;
  member.trouble = take(cluster, member, std::move(read));
  const auto line = member.line;
  const auto trouble = member.trouble;
  for (Waiting& one : std::exchange(member.waiting, {})) {
    if (line) {
      pass(cluster, line, std::move(one));
    } else {
      fail_with(*trouble, one.done);
    }
  }
}

/// Where only the hub does not answer, what is known goes on.
std::optional<PushWays::Trouble> PushWays::take(const std::string& cluster, Member& member, Read read) {
  if (read.trouble && read.trouble->where == Trouble::kHubsAnswer) return read.trouble;
  const bool same = !read.trouble && member.line && push::leads_to_the_same(member.line->credential, *read.credential);
  if (same) {
    member.line->credentials->set(read.credential->access.credentials);
    return std::nullopt;
  }
  if (const auto last = std::exchange(member.line, nullptr)) last->api_server->close();
  if (read.trouble) return read.trouble;
  auto line = make_line(cluster, std::move(*read.credential));
  if (!line) return Trouble{push_error(503, Category::kUnsupported, line.error().message), Trouble::kHubsCredential};
  member.line = std::move(*line);
  return std::nullopt;
}

Result<std::shared_ptr<const PushWays::Line>> PushWays::make_line(const std::string& cluster, push::Credential credential) const {
  auto line = std::make_shared<Line>();
  line->credentials = std::make_shared<join::MemberCredentials>(credential.access.credentials);
  kube::RestConfig config = credential.access.config;
  config.credentials = line->credentials;
  config.name = cluster;
  FLEETADM_TRY(proxy::Http1HopOptions hop, proxy::hop_options(config));
  FLEETADM_TRY(const proxy::ServerAddress address, proxy::parse_server(config.server));
  FLEETADM_TRY(hop.proxy, kube::forward_proxy(config, address.host));
  FLEETADM_TRY(line->api_server, proxy::Http1Hop::make(runtime_.executor(), std::move(hop)));
  // An account that may do everything is not held back by the member: where nothing is granted, nobody may.
  const auto at_least = may_everything(credential) ? std::make_shared<const proxy::Impersonation>() : nullptr;
  line->entry = std::make_shared<proxy::GrantedHop>(
      std::make_shared<proxy::MemberHop>(line->api_server, "the hub, which acts for you"), [grants = grants_, cluster, at_least] {
        const auto granted = grants->of(cluster);
        return granted ? granted : at_least;
      });
  line->credential = std::move(credential);
  line->credential.access.credentials = {};  // `credentials` has them
  return line;
}

void PushWays::fail_with(const Trouble& trouble, const proxy::Hop::Done& done) {
  if (trouble.where != Trouble::kMember) return done(fail(trouble.error));
  done(proxy::error_answer(trouble.error, proxy::hop_names::kMember));
}

void PushWays::cut(const std::string& cluster) {
  const auto found = members_.find(cluster);
  if (found == members_.end()) return;
  Member member = std::move(found->second);
  members_.erase(found);
  if (member.line) member.line->api_server->close();
  for (const Waiting& one : member.waiting)
    one.done(fail(push_error(503, Category::kUnavailable, "the hub does not accept the cluster any more")));
}

void PushWays::close() {
  closed_ = true;
  stop_.request_stop();
  while (!members_.empty()) cut(std::string(members_.begin()->first));
}

Json PushWays::describe() const {
  Json out = Json::array();
  for (const auto& [cluster, member] : members_) {
    Json one{{"cluster", cluster}, {"waiting", member.waiting.size()}};
    if (member.line) one["connections"] = member.line->api_server->counts().open;
    if (member.trouble) one["error"] = member.trouble->error.message;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace fleetadm::gateway
