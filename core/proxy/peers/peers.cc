#include "core/proxy/peers/peers.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <stop_token>
#include <utility>

#include "core/proxy/hop/client_left.h"
#include "core/proxy/hop/error_answer.h"
#include "core/proxy/peers/peer_identity.h"
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

/// To the replica that turns out to have the cluster's tunnel.
class Peers::Way final : public Hop {
 public:
  Way(std::shared_ptr<Peers> peers, std::string cluster) : peers_(std::move(peers)), cluster_(std::move(cluster)) {}

  void send(serve::HttpRequest request, Done done) override {
    auto held = std::make_shared<serve::HttpRequest>(std::move(request));
    peers_->find(cluster_, [peers = peers_, cluster = cluster_, held, done = std::move(done)](const std::shared_ptr<Hop>& hop) {
      if (held->left.stop_requested()) return done(fail(client_left()));
      if (!hop) return done(fail(no_tunnel(cluster)));
      address_to(cluster, *held);
      hop->send(std::move(*held), [weak = peers->weak_from_this(), cluster, done](Result<serve::HttpResponse> came) {
        // It is another replica's by now, or that replica is gone.
        const bool lost = !came || came->status == kNoTunnel;
        if (const auto here = weak.lock(); here && lost) here->forget(cluster);
        if (came && came->status == 401 && is_of_gateway(*came)) return done(fail(not_known()));
        done(std::move(came));
      });
    });
  }

 private:
  const std::shared_ptr<Peers> peers_;
  const std::string cluster_;
};

Peers::Peers(boost::asio::any_io_executor executor, PeersOptions options)
    : executor_(std::move(executor)), options_(options), certificate_(std::make_shared<Certificate>()) {}

Peers::~Peers() = default;

void Peers::use(const std::vector<std::string>& addresses, const std::string& ca, const pki::KeyPair& certificate) {
  certificate_->show(certificate);
  const bool other_ca = std::exchange(ca_, ca) != ca;
  std::erase_if(leaving_, [](const auto& replica) { return replica->counts().open == replica->counts().idle; });
  std::erase_if(replicas_, [&](const auto& one) {
    const bool stays = !other_ca && std::ranges::find(addresses, one.first) != addresses.end();
    if (!stays) leaving_.push_back(one.second);
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
    replicas_.emplace(address, std::move(*hop));
  }
}

std::shared_ptr<Hop> Peers::way_to(std::string_view cluster) {
  if (replicas_.empty()) return nullptr;
  return std::make_shared<Way>(shared_from_this(), std::string(cluster));
}

void Peers::close() {
  for (const auto& [address, hop] : std::exchange(replicas_, {})) hop->close();
  for (const auto& hop : std::exchange(leaving_, {})) hop->close();
}

void Peers::find(const std::string& cluster, Found found) {
  if (const auto at = known_.find(cluster); at != known_.end()) {
    const auto replica = replicas_.find(at->second.address);
    if (replica != replicas_.end() && Steady::now() < at->second.until) return found(replica->second);
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
  for (const auto& [address, hop] : replicas_) addresses.push_back(address);
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
  const auto hop = at->second;
  hop->send(std::move(question), [weak = weak_from_this(), search, address](const Result<serve::HttpResponse>& came) {
    const auto here = weak.lock();
    if (!here || search->over) return;
    if (came && came->status == 204) return here->settle(search, address);
    if (!came) log::info(1, "gateway", came.error().message);
    if (--search->open == 0) here->settle(search, {});
  });
}

void Peers::settle(const std::shared_ptr<Search>& search, const std::string& address) {
  if (std::exchange(search->over, true)) return;
  search->timer.cancel();
  search->stop.request_stop();  // the others need not answer
  searches_.erase(search->cluster);
  const auto replica = replicas_.find(address);
  const std::shared_ptr<Hop> hop = replica == replicas_.end() ? nullptr : replica->second;
  if (hop) {
    if (known_.size() >= kMostKnown) known_.clear();
    known_[search->cluster] = {address, Steady::now() + options_.known};
  }
  for (const Found& found : std::exchange(search->waiting, {})) found(hop);
}

}  // namespace fleetadm::proxy
