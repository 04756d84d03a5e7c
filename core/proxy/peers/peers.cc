#include "core/proxy/peers/peers.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <stop_token>
#include <utility>

#include "core/proxy/hop/client_left.h"
#include "core/proxy/hop/error_answer.h"
#include "core/proxy/hop/headers.h"
#include "core/proxy/peers/peer_identity.h"
#include "core/serve/http/body_pipe.h"
#include "kubeclient/base/log.h"
#include "kubeclient/config/rest_config.h"

namespace fleetadm::proxy {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPeerDial{1500};
constexpr std::size_t kMostKnown = 16 * 1024;
constexpr int kNoTunnel = 503;

Error no_tunnel(const std::string& cluster) {
  return {.code = kNoTunnel,
          .category = Category::kUnavailable,
          .message = "the cluster \"" + cluster + "\" has no tunnel to any replica of this gateway: its agent is not connected",
          .retry_after_seconds = 1};
}

std::string_view peer_header(const serve::Headers& headers, std::string_view name) {
  const auto at = std::ranges::find(headers, name, &std::pair<std::string, std::string>::first);
  return at == headers.end() ? std::string_view() : std::string_view(at->second);
}

bool only_reads(const serve::HttpRequest& request) {
  const bool reads = request.method == "GET" || request.method == "HEAD" || request.method == "OPTIONS";
  return reads && request.body.empty() && !request.content && !is_upgrade(request.headers);
}

bool is_of_gateway(const serve::HttpResponse& answer) {
  return std::ranges::any_of(
      answer.headers, [](const auto& header) { return header.first == kHopHeader && header.second == hop_names::kGateway; });
}

Error not_known() {
  return {.code = 502, .category = Category::kUnavailable, .message = "another replica of the gateway does not know this one"};
}

/// As the port of a replica takes it. A hop would show no certificate where a request brings an authorization of its own.
void address_to(const std::string& cluster, serve::HttpRequest& request) {
  for (auto& [name, value] : request.headers) {
    if (name == "authorization") name = kPeerAuthorization;
  }
  request.headers.emplace_back(kPeerCluster, cluster);
}

}  // namespace

/// This replica's, which changes while connections are kept.
class Peers::Certificate final : public kube::CredentialSource {
 public:
  void show(const pki::KeyPair& certificate) {
    const std::lock_guard lock(mutex_);
    shown_.client_certificate = certificate.certificate;
    shown_.client_key = certificate.key;
  }
  Result<kube::Credentials> current() override {
    const std::lock_guard lock(mutex_);
    return shown_;
  }
  bool refresh() override { return false; }

 private:
  std::mutex mutex_;
  kube::Credentials shown_;
};

/// Asks all replicas at once; the first that has a tunnel is taken.
struct Peers::Search {
  explicit Search(const boost::asio::any_io_executor& executor) : timer(executor) {}
  std::string cluster;
  std::vector<Found> waiting;
  std::size_t open = 0;  // questions without an answer
  bool over = false;
  std::stop_source stop;
  boost::asio::steady_timer timer;
};

/// One request on its way to whichever replica has the tunnel.
struct Peers::Attempt {
  Attempt(const boost::asio::any_io_executor& executor, std::string to, serve::HttpRequest asked, Hop::Done told)
      : cluster(std::move(to)), request(std::move(asked)), done(std::move(told)), timer(executor) {}
  const std::string cluster;
  serve::HttpRequest request;  // also after it was sent, as it may have to be sent elsewhere
  Hop::Done done;
  boost::asio::steady_timer timer;
  SteadyTime until{};  // it waits no longer
  bool repeated = false;
};

/// To the replica that turns out to have the cluster's tunnel.
class Peers::Way final : public Hop {
 public:
  Way(std::shared_ptr<Peers> peers, std::string cluster) : peers_(std::move(peers)), cluster_(std::move(cluster)) {}

  void send(serve::HttpRequest request, Done done) override {
    const auto attempt = std::make_shared<Attempt>(peers_->executor_, cluster_, std::move(request), std::move(done));
    attempt->until = Steady::now() + peers_->options_.patience;
    peers_->go(attempt);
  }

 private:
  const std::shared_ptr<Peers> peers_;
  const std::string cluster_;
};

Peers::Peers(boost::asio::any_io_executor executor, PeersOptions options)
    : executor_(std::move(executor)), options_(std::move(options)), certificate_(std::make_shared<Certificate>()) {}

Peers::~Peers() = default;

void Peers::use(const std::vector<std::string>& addresses, const std::string& ca, const pki::KeyPair& certificate) {
  certificate_->show(certificate);
  const bool other_ca = std::exchange(ca_, ca) != ca;
  std::erase_if(leaving_, [](const auto& replica) { return replica->counts().open == replica->counts().idle; });
  std::erase_if(replicas_, [&](const auto& one) {
    const bool stays = !other_ca && std::ranges::find(addresses, one.first) != addresses.end();
    if (!stays) {
      leaving_.push_back(one.second.hop);
      left_ = Steady::now();
    }
    return !stays;
  });
  for (const std::string& address : addresses) {
    if (replicas_.contains(address)) continue;
    Http1HopOptions options;
    options.name = "the replica at " + address;
    options.server = "https://" + address;
    options.ca = ca;
    options.credentials = certificate_;
    options.connections = 10'000;
    options.dial = kPeerDial;
    options.head = std::chrono::milliseconds(95'000);  // the replica gives up before
    auto hop = Http1Hop::make(executor_, std::move(options));
    if (!hop) {
      log::warn("gateway", "replica at " + address + ": " + hop.error().message);
      continue;
    }
    replicas_.emplace(address, Replica{std::move(*hop), {}});
  }
}

std::shared_ptr<Hop> Peers::way_to(std::string_view cluster) {
  std::string name(cluster);
  if (replicas_.empty() && !may_come(name)) return nullptr;
  return std::make_shared<Way>(shared_from_this(), std::move(name));
}

void Peers::lost(const std::string& cluster) {
  if (lost_.size() >= kMostKnown) lost_.clear();
  lost_[cluster] = Steady::now();
}

void Peers::close() {
  for (const auto& [address, replica] : std::exchange(replicas_, {})) replica.hop->close();
  for (const auto& hop : std::exchange(leaving_, {})) hop->close();
  for (const auto& [cluster, search] : std::exchange(searches_, {})) settle(search, {});  // what waits for it holds this object
}

void Peers::go(const AttemptPtr& attempt) {
  if (attempt->request.left.stop_requested()) return attempt->done(fail(client_left()));
  if (const auto own = options_.own ? options_.own(attempt->cluster) : nullptr)
    return own->send(std::move(attempt->request), std::move(attempt->done));
  // Of a body that was sent in vain, not all is here any more: such a request does not go by what was known a while ago.
  find(attempt->cluster, attempt->request.content != nullptr,
       [self = shared_from_this(), attempt](const std::shared_ptr<Hop>& hop) {
         if (attempt->request.left.stop_requested()) return attempt->done(fail(client_left()));
         if (hop) return self->pass(attempt, hop);
         self->wait_or_end(attempt);
       });
}

void Peers::pass(const AttemptPtr& attempt, const std::shared_ptr<Hop>& hop) {
  serve::HttpRequest request = attempt->request;
  address_to(attempt->cluster, request);
  hop->send(std::move(request), [weak = weak_from_this(), attempt](Result<serve::HttpResponse> came) {
    if (const auto here = weak.lock()) return here->judge(attempt, came);
    attempt->done(std::move(came));
  });
}

void Peers::judge(const AttemptPtr& attempt, const Result<serve::HttpResponse>& came) {
  if (!came && came.error().category == Category::kCancelled) return attempt->done(came);
  const bool unsent = came && peer_header(came->headers, kPeerUnsent) == "true";
  if (came && !unsent) {
    if (came->status == 401 && is_of_gateway(*came)) return attempt->done(fail(not_known()));
    return attempt->done(came);
  }
  // It is another replica's by now, or that replica is gone.
  known_.erase(attempt->cluster);
  lost(attempt->cluster);
  const serve::HttpRequest& request = attempt->request;
  const bool whole = !request.content || *request.content->count() == 0;
  const bool broke = !came && came.error().category != Category::kTimeout && only_reads(request);
  const bool again = Steady::now() < attempt->until && (unsent ? whole : broke && !std::exchange(attempt->repeated, true));
  if (!again) return attempt->done(came);
  if (request.content) request.content->on_ready({});
  go(attempt);
}

/// The cluster's agent may be about to come to a replica.
void Peers::wait_or_end(const AttemptPtr& attempt) {
  if (Steady::now() >= attempt->until || !may_come(attempt->cluster)) return attempt->done(fail(no_tunnel(attempt->cluster)));
  attempt->timer.expires_after(options_.look);
  attempt->timer.async_wait([weak = weak_from_this(), attempt](const boost::system::error_code& error) {
    const auto here = weak.lock();
    if (here && !error) return here->go(attempt);
    attempt->done(fail(no_tunnel(attempt->cluster)));
  });
}

/// A tunnel that was there a moment ago, here or at a replica that has left since.
bool Peers::may_come(const std::string& cluster) const {
  const auto now = Steady::now();
  const auto is_recent = [&](const std::optional<SteadyTime>& when) { return when && now - *when < options_.moved; };
  if (is_recent(left_)) return true;
  if (const auto at = lost_.find(cluster); at != lost_.end() && is_recent(at->second)) return true;
  return std::ranges::any_of(replicas_, [&](const auto& one) { return is_recent(one.second.silent_since); });
}

void Peers::find(const std::string& cluster, bool anew, Found found) {
  if (const auto at = known_.find(cluster); at != known_.end()) {
    const auto replica = replicas_.find(at->second.address);
    const auto now = Steady::now();
    if (!anew && replica != replicas_.end() && now < at->second.until) return found(replica->second.hop);
    if (now < at->second.until + options_.moved) lost(cluster);  // unless it is found again
    known_.erase(at);
  }
  auto& search = searches_[cluster];
  if (search) return search->waiting.push_back(std::move(found));
  search = std::make_shared<Search>(executor_);
  search->cluster = cluster;
  search->waiting.push_back(std::move(found));
  search->open = replicas_.size();
  const auto asked = search;
  std::vector<std::string> addresses;
  for (const auto& [address, replica] : replicas_) addresses.push_back(address);
  if (addresses.empty()) return settle(asked, {});
  asked->timer.expires_after(options_.question);
  asked->timer.async_wait([weak = weak_from_this(), asked](const boost::system::error_code& error) {
    if (const auto here = weak.lock(); here && !error) here->settle(asked, {});
  });
  for (const std::string& address : addresses) ask(asked, address);
}

void Peers::ask(const std::shared_ptr<Search>& search, const std::string& address) {
  const auto at = replicas_.find(address);
  if (search->over || at == replicas_.end()) return;
  serve::HttpRequest question;
  question.method = "GET";
  question.path = "/";
  question.headers.emplace_back(kPeerQuestion, "tunnel");
  question.headers.emplace_back(kPeerCluster, search->cluster);
  question.left = search->stop.get_token();
  const auto hop = at->second.hop;
  hop->send(std::move(question), [weak = weak_from_this(), search, address](const Result<serve::HttpResponse>& came) {
    const auto here = weak.lock();
    if (!here || search->over) return;
    here->heard(address, came.has_value());
    if (came && came->status == 204) return here->settle(search, address);
    if (!came) log::info(1, "gateway", came.error().message);
    if (--search->open == 0) here->settle(search, {});
  });
}

void Peers::heard(const std::string& address, bool answered) {
  const auto at = replicas_.find(address);
  if (at == replicas_.end()) return;
  if (answered) at->second.silent_since.reset();
  if (!answered && !at->second.silent_since) at->second.silent_since = Steady::now();
}

void Peers::settle(const std::shared_ptr<Search>& search, const std::string& address) {
  if (std::exchange(search->over, true)) return;
  search->timer.cancel();
  search->stop.request_stop();  // the others need not answer
  searches_.erase(search->cluster);
  const auto replica = replicas_.find(address);
  const std::shared_ptr<Hop> hop = replica == replicas_.end() ? nullptr : replica->second.hop;
  if (hop) {
    lost_.erase(search->cluster);
    if (known_.size() >= kMostKnown) known_.clear();
    known_[search->cluster] = {address, Steady::now() + options_.known};
  }
  for (const Found& found : std::exchange(search->waiting, {})) found(hop);
}

}  // namespace fleetadm::proxy
