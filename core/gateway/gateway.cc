#include "core/gateway/gateway.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/api/gateway.h"
#include "core/controller/controller.h"
#include "core/controller/memory.h"
#include "core/controller/worker_pool.h"
#include "core/gateway/cluster_states.h"
#include "core/gateway/exposed_list.h"
#include "core/gateway/gateway_addresses.h"
#include "core/gateway/konnectivity.h"
#include "core/gateway/push_ways.h"
#include "core/proxy/gateway/audit_log.h"
#include "core/proxy/gateway/front.h"
#include "core/proxy/hop/error_answer.h"
#include "core/proxy/hub/gateway_keeper.h"
#include "core/proxy/peers/peer_port.h"
#include "core/proxy/peers/peers.h"
#include "core/proxy/tunnel/registry.h"
#include "core/proxy/tunnel/tunnel_server.h"
#include "core/serve/http/listen_address.h"
#include "core/serve/http/server.h"
#include "kubeclient/base/log.h"

namespace fleetadm::gateway {
namespace {

constexpr const char* kName = "gateway";
constexpr std::size_t kWorkers = 16;  // they wait for reviews of the hub
constexpr std::size_t kInformerThreads = 1;
constexpr Duration kFirstRetry = std::chrono::seconds(1);
constexpr Duration kHubTimeout = std::chrono::seconds(10);
constexpr Duration kLook = std::chrono::milliseconds(50);
constexpr std::chrono::milliseconds kLastWords{1000};
/// A Service needs so long to send nobody to a replica that stops.
constexpr Duration kHandOver = std::chrono::seconds(1);
/// Where an API server says by which CAs it believes client certificates.
constexpr std::string_view kAuthenticationMap = "extension-apiserver-authentication";

serve::ListenOptions front_options(const serve::ListenAddress& where, const pki::KeyPair& certificate,
                                   const std::string& client_ca) {
  serve::ListenOptions listen;
  listen.address = where.host;
  listen.port = where.port;
  listen.certificate = certificate;
  listen.client_ca = client_ca;
  listen.evicts = true;
  listen.limits.connections = 10'000;
  listen.limits.upgrades = 10'000;
  listen.streams_body = [](const serve::HttpRequest&) { return true; };
  return listen;
}

class Gateway {
 public:
  Gateway(const kube::Client& hub, const GatewayOptions& options, std::unique_ptr<proxy::AuditLog> audit)
      : options_(options),
        hub_(hub.with_timeout(kHubTimeout)),
        audit_(std::move(audit)),
        keeper_(hub_, {options.ns, gateway_hosts(options), options.clock}),
        runtime_(kWorkers),
        push_(std::make_shared<PushWays>(runtime_, hub)),
        manager_(manager_options(options)),
        clusters_(manager_, hub, [this](const std::string& cluster) { lose(cluster); }),
        exposed_(manager_, hub, options.ns, [this] { ask_for_pass(); }),
        front_(runtime_, hub_, front_parts()) {
    if (!options.peer_address.empty() || options.accept_konnectivity) watch_replicas(hub);
    // Weakly: the other replicas' side has the registry.
    registry_->on_change([weak = std::weak_ptr(peers_)](const std::string& cluster, std::size_t tunnels) {
      const auto peers = weak.lock();
      if (peers && tunnels == 0) peers->lost(cluster);
    });
    if (options_.accept_konnectivity)
      konnectivity_ = std::make_unique<Konnectivity>(manager_, runtime_, hub_, konnectivity_parts());
    manager_.add_page("/debug/gateway", [this](std::string_view) {
      return controller::Manager::Page{200, "application/json", dump_json(describe())};
    });
  }
  ~Gateway() {
    manager_.stop();
    konnectivity_.reset();
    listener_.reset();
    peer_listener_.reset();
    tunnels_.reset();
    runtime_.on_io_thread([this] {
      peers_->close();
      push_->close();
    });
    runtime_.stop();
  }

  Status run(const std::stop_token& stop) {
    FLEETADM_CHECK(manager_.start());
    std::string told;
    Duration retry = kFirstRetry;
    while (!stop.stop_requested()) {
      const Status kept = pass(stop);
      if (stop.stop_requested()) break;
      if (!kept && is_final(kept.error())) return kept;
      if (const std::string why = kept ? std::string() : kept.error().message; why != told) {
        if (!why.empty()) log::warn(kName, why);
        told = why;
      }
      retry = kept ? kFirstRetry : std::min(retry * 2, options_.keep);
      pause(kept ? options_.keep : retry, stop);
      controller::give_memory_back();
    }
    end();
    return {};
  }

 private:
  static controller::Manager::Options manager_options(const GatewayOptions& options) {
    controller::Manager::Options manager;
    manager.threads = kInformerThreads;
    manager.health_address = options.health_address;
    manager.clock = options.clock;
    manager.pool = std::make_shared<controller::WorkerPool>(kInformerThreads);
    return manager;
  }

  /// A replica that comes is asked for tunnels at once, not with the next pass.
  void watch_replicas(const kube::Client& hub) {
    kube::InformerOptions watched;
    watched.ns = options_.ns;
    watched.field_selector = "metadata.name=" + std::string(api::kGatewayConfigMap);
    published_map_ = manager_.informer(hub, kube::resources::config_maps(), std::move(watched));
    published_map_->on_event([this](kube::EventType, const kube::CachedPtr&, const kube::CachedPtr&) { ask_for_pass(); });
  }

  proxy::PeersOptions peers_parts() const {
    proxy::PeersOptions parts;
    parts.own = [registry = registry_](std::string_view cluster) { return registry->find(cluster); };
    return parts;
  }

  proxy::FrontOptions front_parts() {
    proxy::FrontOptions parts;
    parts.limits = options_.limits;
    parts.clock = options_.clock;
    parts.state = [this](std::string_view cluster) { return clusters_.state(cluster); };
    parts.down = [this](std::string_view cluster) { return clusters_.down(cluster, options_.clock->now()); };
    parts.hop = [this](std::string_view cluster) -> std::shared_ptr<proxy::Hop> {
      if (clusters_.is_push_member(cluster)) return push_->way_to(cluster);
      if (auto own = registry_->find(cluster)) return own;
      if (registry_->is_leaving(cluster)) peers_->lost(std::string(cluster));
      return peers_->way_to(cluster);
    };
    parts.first_hop = [this](std::string_view cluster) {
      return clusters_.is_push_member(cluster) ? proxy::hop_names::kHub : proxy::hop_names::kTunnel;
    };
    parts.exposes = [this](std::string_view cluster, const proxy::ServiceTarget& service) {
      return exposed_.allows(cluster, service);
    };
    if (audit_) parts.audit = [this](const proxy::AuditRecord& record) { audit_->write(proxy::audit_line(record)); };
    return parts;
  }

  KonnectivityOptions konnectivity_parts() {
    KonnectivityOptions parts;
    parts.ns = options_.ns;
    parts.address = options_.konnectivity_address;
    parts.agent_address = options_.konnectivity_agent_address;
    parts.accepts = [this](std::string_view cluster) { return clusters_.state(cluster) == proxy::ClusterState::kAccepted; };
    parts.changed = [this] { ask_for_pass(); };
    parts.clock = options_.clock;
    return parts;
  }

  static bool is_final(const Error& error) { return error.category == Category::kUsage; }

  void lose(const std::string& cluster) {
    if (konnectivity_) konnectivity_->lose(cluster);
    boost::asio::post(runtime_.executor(), [registry = registry_, push = push_, cluster] {
      registry->cut(cluster, "the hub does not accept the cluster any more");
      push->cut(cluster);
    });
  }

  /// Brings up what is not there yet, and keeps what is on the hub.
  Status pass(const std::stop_token& stop) {
    FLEETADM_TRY(const std::string client_ca, read_client_ca(stop));
    FLEETADM_TRY(const bool renewed, keeper_.renew());
    if (!listener_ || !tunnels_) {
      client_ca_ = client_ca;
      FLEETADM_CHECK(listen());
    } else if (renewed || client_ca != client_ca_) {
      FLEETADM_CHECK(listener_->renew(keeper_.serving(), client_ca));
      FLEETADM_CHECK(tunnels_->renew(keeper_.serving(), client_ca));
      client_ca_ = client_ca;
      log::info(1, kName, renewed ? "the gateway has a new certificate" : "client certificates are judged by another CA");
    }
    FLEETADM_CHECK(keeper_.publish(own_, exposed_.problem()));
    if (konnectivity_) konnectivity_->pass(keeper_.konnectivity_replicas());
    FLEETADM_CHECK(use_peers(renewed));
    if (std::exchange(published_, true)) return {};
    // Only now: a gateway that nobody reaches is not ready.
    FLEETADM_CHECK(manager_.serve_health());
    log::info(0, kName, "serving clients at " + own_.server + " and agents at " + own_.tunnel);
    return {};
  }

  Result<std::string> read_client_ca(const std::stop_token& stop) const {
    const kube::Client hub = hub_.with_stop(stop);
    auto found = hub.find(kube::resources::config_maps(), "kube-system", kAuthenticationMap);
    if (!found) return fail(found.error().wrap("the hub does not say by which CA client certificates are judged"));
    std::string ca = *found ? str(**found, {"data", "client-ca-file"}) : std::string();
    if (ca.empty()) {
      return fail(Category::kNotFound, "ConfigMap kube-system/" + std::string(kAuthenticationMap) +
                                           " names no CA of client certificates, by which agents are known");
    }
    return ca;
  }

  Status listen() {
    FLEETADM_TRY(const serve::ListenAddress clients, serve::parse_listen_address(options_.address));
    FLEETADM_TRY(const serve::ListenAddress agents, serve::parse_listen_address(options_.tunnel_address));
    if (!tunnels_) {
      proxy::TunnelServerOptions tunnel;
      tunnel.address = agents.host;
      tunnel.port = agents.port;
      tunnel.certificate = keeper_.serving();
      tunnel.client_ca = client_ca_;
      tunnel.limits = options_.tunnel;
      FLEETADM_TRY(tunnels_, proxy::TunnelServer::start(runtime_, tunnel, registry_));
    }
    if (!options_.peer_address.empty() && !peer_listener_) {
      FLEETADM_TRY(const serve::ListenAddress replicas, serve::parse_listen_address(options_.peer_address));
      trusted_ = keeper_.trusted();
      const auto listen = proxy::peer_listener(replicas.host, replicas.port, keeper_.peer(), trusted_);
      FLEETADM_TRY(peer_listener_, serve::HttpListener::start_direct(runtime_, listen, peer_handler()));
      own_.peer = peer_listener_->endpoint();
    }
    FLEETADM_TRY(listener_, serve::HttpListener::start_direct(runtime_, front_options(clients, keeper_.serving(), client_ca_),
                                                              [this](serve::HttpRequest request, serve::Reply reply) {
                                                                front_.handle(std::move(request), std::move(reply));
                                                              }));
    own_.server = "https://" + client_address(options_, listener_->endpoint());
    own_.tunnel = agent_address(options_, tunnels_->endpoint());
    own_.konnectivity = options_.accept_konnectivity;
    return {};
  }

  serve::HttpHandler peer_handler() {
    return proxy::answer_peers([this](std::string_view cluster) -> std::shared_ptr<proxy::Hop> {
      return clusters_.state(cluster) == proxy::ClusterState::kAccepted ? registry_->find(cluster) : nullptr;
    });
  }

  /// Requests for clusters whose tunnels the other replicas have go to them.
  Status use_peers(bool renewed) {
    if (!peer_listener_) return {};
    if (std::exchange(trusted_, keeper_.trusted()) != keeper_.trusted() || renewed)
      FLEETADM_CHECK(peer_listener_->renew(keeper_.peer(), trusted_));
    runtime_.on_io_thread([&] { peers_->use(keeper_.peers(), trusted_, keeper_.peer()); });
    return {};
  }

  /// New requests go elsewhere; those that run have their time.
  void end() {
    if (!listener_ || !tunnels_) return;
    if (published_) {
      if (const Status told = keeper_.withdraw(own_); !told) log::warn(kName, told.error().message);
    }
    if (peer_listener_ && !keeper_.peers().empty()) hand_over();
    listener_->drain();
    if (konnectivity_) konnectivity_->drain();
    if (peer_listener_) peer_listener_->drain();
    if (running() > 0) log::info(0, kName, "waiting for " + std::to_string(running()) + " requests to end");
    const auto until = std::chrono::steady_clock::now() + options_.drain;
    while (running() > 0 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(kLook);
    front_.drain();
    tunnels_->drain();
    tunnels_->wait_drained(kLastWords);
    log::info(0, kName, "stopped");
  }

  /// Agents come to the other replicas, and what clients still ask of this one until they have heard goes on to where they are.
  void hand_over() {
    tunnels_->drain();
    std::this_thread::sleep_for(std::min<Duration>(kHandOver, options_.drain));
  }

  /// Requests of clients, and connections on which other replicas, or clients of konnectivity's, have some.
  std::size_t running() const {
    return front_.running() + (peer_listener_ ? peer_listener_->connections() : 0) +
           (konnectivity_ ? konnectivity_->running() : 0);
  }

  void ask_for_pass() {
    {
      const std::lock_guard lock(mutex_);
      asked_ = true;
    }
    changed_.notify_all();
  }

  void pause(Duration time, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, time, [this] { return asked_; });
    asked_ = false;
  }

  Json describe() const {
    Json tunnels = Json::array();
    for (const proxy::TunnelInfo& one : registry_->list()) {
      tunnels.push_back({{"cluster", one.cluster},
                         {"agent", one.agent},
                         {"since", format_time(one.since)},
                         {"streams", one.streams},
                         {"waiting", one.waiting},
                         {"draining", one.draining},
                         {"silent", one.silent}});
    }
    Json dialed;
    runtime_.on_io_thread([&] { dialed = push_->describe(); });
    Json konnectivity = konnectivity_ ? konnectivity_->describe() : Json();
    return {{"server", own_.server},
            {"tunnel", own_.tunnel},
            {"peer", own_.peer},
            {"konnectivity", std::move(konnectivity)},
            {"requests", front_.running()},
            {"dialed", std::move(dialed)},
            {"exposedServicesProblem", exposed_.problem()},
            {"tunnels", std::move(tunnels)}};
  }

  const GatewayOptions options_;
  const kube::Client hub_;
  std::unique_ptr<proxy::AuditLog> audit_;
  proxy::GatewayKeeper keeper_;
  std::shared_ptr<proxy::TunnelRegistry> registry_ = std::make_shared<proxy::TunnelRegistry>();
  serve::HttpRuntime runtime_;
  const std::shared_ptr<PushWays> push_;  // to members without tunnels
  std::mutex mutex_;
  bool asked_ = false;  // for a pass before its time
  std::condition_variable_any changed_;
  controller::Manager manager_;
  ClusterStates clusters_;
  ExposedList exposed_;
  std::shared_ptr<kube::Informer> published_map_;
  proxy::Front front_;
  proxy::GatewayReplica own_;  // fixed before health is served
  std::string client_ca_;
  std::string trusted_;  // by which the other replicas are known
  bool published_ = false;
  const std::shared_ptr<proxy::Peers> peers_ = std::make_shared<proxy::Peers>(runtime_.executor(), peers_parts());
  std::unique_ptr<serve::HttpListener> peer_listener_;
  std::unique_ptr<proxy::TunnelServer> tunnels_;
  std::unique_ptr<serve::HttpListener> listener_;
  std::unique_ptr<Konnectivity> konnectivity_;  // where it is accepted; fixed before the manager starts
};

}  // namespace

Status run_gateway(const kube::Client& hub, const GatewayOptions& options, const std::stop_token& stop) {
  FLEETADM_CHECK(check_gateway(options));
  std::unique_ptr<proxy::AuditLog> audit;
  if (!options.audit_log.empty()) {
    FLEETADM_TRY(audit, proxy::AuditLog::open(options.audit_log));
  }
  Gateway gateway(hub, options, std::move(audit));
  return gateway.run(stop);
}

}  // namespace fleetadm::gateway
