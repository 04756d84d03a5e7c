#include "core/agent/gateway_tunnels.h"

#include <utility>

#include "core/api/kinds.h"
#include "core/proxy/member/granted_hop.h"
#include "core/proxy/member/member_hop.h"
#include "core/proxy/member/tunnel_requests.h"
#include "kubeclient/base/log.h"

namespace fleetadm::agent {
namespace {

constexpr const char* kGatewayLog = "gateway";
/// A hub that does not tell its agents where a gateway is will rarely begin to.
constexpr Duration kLookAgain = std::chrono::minutes(10);
constexpr std::chrono::milliseconds kLastWords{2000};

/// One thread drives the tunnels of all agents of a process; it ends with the last of them.
std::shared_ptr<serve::HttpRuntime> shared_runtime() {
  static std::mutex mutex;
  static std::weak_ptr<serve::HttpRuntime> running;
  const std::lock_guard lock(mutex);
  auto runtime = running.lock();
  if (!runtime) {
    runtime = std::make_shared<serve::HttpRuntime>(0);
    running = runtime;
  }
  return runtime;
}

kube::InformerOptions only(std::string_view ns, std::string_view name) {
  kube::InformerOptions options;
  options.ns = ns;
  options.field_selector = "metadata.name=" + std::string(name);
  options.project = [](Json& object) { erase_at(object, {"metadata", "annotations"}); };
  return options;
}

}  // namespace

GatewayTunnels::GatewayTunnels(GatewayTunnelsOptions options) : options_(std::move(options)) {}

GatewayTunnels::~GatewayTunnels() {
  if (published_) published_->stop();
  stop();
}

Result<controller::Outcome> GatewayTunnels::reconcile() {
  if (!published_) return look();
  if (!published_->synced()) return controller::Outcome{};
  const kube::CachedPtr cached = published_->get(kube::object_key(api::kHubNamespace, api::kGatewayConfigMap));
  auto gateway = cached ? api::read_gateway(cached->decode()) : std::nullopt;
  if (!gateway) {
    told(gateway.error().message);  // what runs goes on
    return controller::Outcome{};
  }
  if (!*gateway || (*gateway)->tunnels.empty()) {
    stop();
    told({});
    return controller::Outcome{};
  }
  if (const Status done = connect(**gateway); !done) {
    told(done.error().message);
    return controller::Outcome{kLookAgain};
  }
  told({});
  return controller::Outcome{};
}

/// Whether the hub tells at all: a watch that is refused would be tried again for ever.
Result<controller::Outcome> GatewayTunnels::look() {
  const auto found = options_.hub.find(kube::resources::config_maps(), api::kHubNamespace, api::kGatewayConfigMap);
  if (!found) {
    const bool refused = found.error().category == Category::kAuth || found.error().category == Category::kNotFound;
    if (refused) return controller::Outcome{kLookAgain};
    return fail(found.error().wrap("cannot see whether the hub has a gateway"));
  }
  published_ =
      kube::Informer::make(options_.hub, kube::resources::config_maps(), only(api::kHubNamespace, api::kGatewayConfigMap));
  published_->on_event([wake = options_.wake](kube::EventType, const kube::CachedPtr&, const kube::CachedPtr&) { wake(); });
  published_->on_synced(options_.wake);
  published_->start();
  return controller::Outcome{};
}

Status GatewayTunnels::connect(const api::PublishedGateway& gateway) {
  if (connected_ == gateway) return {};
  FLEETADM_CHECK(start());
  FLEETADM_CHECK(clients_->set_gateways(gateway.tunnels, gateway.ca));
  connected_ = gateway;
  return {};
}

Status GatewayTunnels::start() {
  if (clients_) return {};
  auto runtime = shared_runtime();
  const kube::RestConfig& member = options_.member_config;
  proxy::Http1HopOptions hop;
  hop.name = "the cluster's API server";
  hop.server = member.server;
  hop.ca = member.ca_data;
  hop.tls_server_name = member.tls_server_name;
  hop.credentials = member.credentials;
  FLEETADM_TRY(api_server_, proxy::Http1Hop::make(runtime->executor(), std::move(hop)));
  watch_grants();
  proxy::TunnelClientOptions tunnel;
  tunnel.certificate = options_.certificate;
  tunnel.proxy = [hub = options_.hub_config](const std::string& host) { return kube::forward_proxy(hub, host); };
  tunnel.handle =
      proxy::answer_tunnel(std::make_shared<proxy::GrantedHop>(std::make_shared<proxy::MemberHop>(api_server_), [this] {
        const std::lock_guard lock(mutex_);
        return granted_;
      }));
  auto clients = std::make_shared<proxy::TunnelClients>(*runtime, std::move(tunnel));
  const std::lock_guard lock(mutex_);
  runtime_ = std::move(runtime);
  clients_ = std::move(clients);
  return {};
}

void GatewayTunnels::stop() {
  connected_.reset();
  if (roles_) roles_->stop();
  roles_.reset();
  std::shared_ptr<proxy::TunnelClients> clients;
  std::shared_ptr<serve::HttpRuntime> runtime;
  {
    const std::lock_guard lock(mutex_);
    clients = std::move(clients_);
    runtime = std::move(runtime_);
    granted_.reset();
  }
  if (!clients) return;
  clients->drain(kLastWords);
  clients.reset();  // its handler asks this object no more
  runtime->on_io_thread([this] {
    api_server_->close();
    api_server_.reset();
  });
}

/// The ClusterRole that the hub sends. Without one, the API server alone says who may be impersonated.
void GatewayTunnels::watch_grants() {
  roles_ = kube::Informer::make(options_.member, kube::resources::cluster_roles(), only({}, proxy::kImpersonationRole));
  roles_->on_event([this](kube::EventType, const kube::CachedPtr&, const kube::CachedPtr& after) {
    auto granted = after ? std::make_shared<const proxy::Impersonation>(proxy::read_impersonation(after->decode())) : nullptr;
    const std::lock_guard lock(mutex_);
    granted_ = std::move(granted);
  });
  roles_->start();
}

void GatewayTunnels::told(std::string problem) {
  const std::lock_guard lock(mutex_);
  if (problem == problem_) return;
  if (!problem.empty()) log::warn(kGatewayLog, "no tunnel to the hub's gateway: " + problem);
  problem_ = std::move(problem);
}

Json GatewayTunnels::describe() const {
  std::shared_ptr<serve::HttpRuntime> runtime;  // outlives the clients, also where stop() lets go of both meanwhile
  std::shared_ptr<proxy::TunnelClients> clients;
  Json tunnels = Json::array();
  std::string problem;
  {
    const std::lock_guard lock(mutex_);
    runtime = runtime_;
    clients = clients_;
    problem = problem_;
  }
  if (clients) {
    for (const proxy::TunnelState& one : clients->states()) {
      tunnels.push_back({{"gateway", one.gateway},
                         {"connected", one.connected},
                         {"since", format_time(one.since)},
                         {"streams", one.streams},
                         {"failures", one.failures},
                         {"error", one.error}});
    }
  }
  return {{"problem", problem}, {"tunnels", std::move(tunnels)}};
}

}  // namespace fleetadm::agent
