#include "core/agent/cluster_proxy.h"

#include <algorithm>
#include <utility>

#include "core/addon/agent/registrations.h"
#include "core/api/cluster_proxy.h"
#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/log.h"
#include "kubeclient/lease/heartbeat.h"

namespace fleetadm::agent {
namespace {

constexpr const char* kProxyLog = "cluster-proxy";
constexpr Duration kWhileServing = std::chrono::minutes(1);
constexpr Duration kUntilThere = std::chrono::seconds(5);
constexpr Duration kAfterStart = std::chrono::milliseconds(500);
constexpr std::chrono::seconds kHeartbeat = std::chrono::minutes(1);

using Data = std::map<std::string, std::string>;

Result<Data> read_secret(const kube::Client& member, const std::string& ns, std::string_view name,
                         std::initializer_list<const char*> keys) {
  FLEETADM_TRY(const auto secret, member.find(kube::resources::secrets(), ns, name));
  const std::string whole = "Secret " + ns + "/" + std::string(name);
  if (!secret) return fail(Category::kNotFound, whole + " is not there yet");
  Data out;
  for (const auto& [key, value] : strings_at(*secret, {"data"})) out[key] = base64_decode(value).value_or("");
  for (const char* key : keys) {
    if (out[key].empty()) return fail(Category::kNotFound, whole + " has no " + key + " yet");
  }
  return out;
}

}  // namespace

/// What changes by itself, for new connections.
struct ClusterProxy::Credential final : kube::CredentialSource {
  std::mutex mutex;
  kube::Credentials now;

  void set(kube::Credentials credentials) {
    const std::lock_guard lock(mutex);
    now = std::move(credentials);
  }
  Result<kube::Credentials> current() override {
    const std::lock_guard lock(mutex);
    return now;
  }
  bool refresh() override { return false; }
};

/// What the server cannot take up while it runs.
struct ClusterProxy::Told {
  std::string ns;
  proxy::ProxyAgentSettings settings;
  std::vector<std::string> pods;  // of the proxy server, where it has no address
  std::string proxy_ca;
  pki::KeyPair serving;

  bool operator==(const Told& other) const {
    return ns == other.ns && settings == other.settings && pods == other.pods && proxy_ca == other.proxy_ca &&
           serving.certificate == other.serving.certificate && serving.key == other.serving.key;
  }
};

ClusterProxy::ClusterProxy(ClusterProxyOptions options)
    : options_(std::move(options)),
      on_hub_(std::make_shared<Credential>()),
      tunnel_(std::make_shared<Credential>()),
      as_account_config_([this] {
        kube::RestConfig config;
        config.server = options_.member_config.server;
        config.ca_data = options_.member_config.ca_data;
        config.tls_server_name = options_.member_config.tls_server_name;
        config.credentials = account_;
        return config;
      }()),
      as_account_(options_.connect(as_account_config_)),
      as_addon_config_([this] {
        kube::RestConfig config = registration::agent::config_of(options_.endpoint);
        config.credentials = on_hub_;
        return config;
      }()),
      as_addon_(options_.connect(as_addon_config_)) {}

ClusterProxy::~ClusterProxy() { stop(); }

Result<std::optional<ClusterProxy::Told>> ClusterProxy::look() {
  const std::optional<Json> addon = options_.addon();
  if (!addon || is_deleting(*addon)) return std::nullopt;
  Told told;
  told.ns = addon::agent::addon_namespace(*addon);
  FLEETADM_TRY(const auto deployment,
               options_.member.find(kube::resources::deployments(), told.ns, proxy::kProxyAgentDeployment));
  if (!deployment)
    return fail(Category::kNotFound,
                "Deployment " + told.ns + "/" + std::string(proxy::kProxyAgentDeployment) + " has not come from the hub yet");
  FLEETADM_TRY(told.settings, proxy::read_proxy_agent(*deployment, options_.cluster));
  FLEETADM_TRY(auto authority, read_secret(options_.member, told.ns, api::kClusterProxyCaSecret, {"ca.crt"}));
  told.proxy_ca = std::move(authority["ca.crt"]);
  FLEETADM_TRY(auto tunnel, read_secret(options_.member, told.ns, api::kClusterProxyTunnelSecret, {"tls.crt", "tls.key"}));
  tunnel_->set({.client_certificate = tunnel["tls.crt"], .client_key = tunnel["tls.key"]});
  if (told.settings.serves_requests) {
    FLEETADM_TRY(auto serving, read_secret(options_.member, told.ns, api::kClusterProxyServingSecret, {"tls.crt", "tls.key"}));
    told.serving = {std::move(serving["tls.crt"]), std::move(serving["tls.key"])};
  }
  FLEETADM_TRY(auto hub, read_secret(options_.member, told.ns, api::kClusterProxyHubSecret, {"kubeconfig"}));
  on_hub_->set({.client_certificate = hub["tls.crt"], .client_key = hub["tls.key"], .token = hub["token"]});
  if (told.settings.by_port_forward) {
    FLEETADM_TRY(told.pods, proxy_pods(told.settings.proxy_ns));
  }
  FLEETADM_CHECK(account_->renew(options_.member, told.ns, std::string(api::kClusterProxyAccount), options_.clock->now()));
  return told;
}

Result<controller::Outcome> ClusterProxy::reconcile() {
  auto told = look();
  if (!told) {
    // What runs goes on: what is missing may be on its way.
    note(told.error().message);
    return controller::Outcome{kUntilThere};
  }
  if (!*told) {
    stop();
    note({});
    return controller::Outcome{};
  }
  const bool fresh = !served_ || !(*served_ == **told);
  if (fresh) {
    if (const Status serving = serve(**told); !serving) {
      note(serving.error().message);
      return controller::Outcome{kUntilThere};
    }
  }
  if (fresh) return controller::Outcome{kAfterStart};
  return report(**told);
}

Result<std::vector<std::string>> ClusterProxy::proxy_pods(const std::string& ns) const {
  kube::ListOptions servers;
  servers.label_selector = api::kProxyServerPods;
  FLEETADM_TRY(const Json pods, as_addon_.list(kube::resources::pods(), ns, servers));
  std::vector<std::string> names;
  for (const Json& pod : list_at(pods, {"items"})) {
    if (str(pod, {"status", "phase"}) == "Running" && !is_deleting(pod)) names.push_back(name_of(pod));
  }
  if (names.empty()) return fail(Category::kNotFound, "no pod of the proxy server runs in namespace " + ns + " of the hub");
  std::ranges::sort(names);
  return names;
}

/// One without an address is reached through the hub's API server, each of its pods.
Result<std::vector<HostPort>> ClusterProxy::proxy_servers(const Told& told) {
  if (!told.settings.by_port_forward) return std::vector<HostPort>{{told.settings.host, told.settings.port}};
  std::vector<HostPort> servers;
  for (const std::string& pod : told.pods) {
    proxy::PodPort target{told.settings.proxy_ns, std::string(api::kProxyServerPods), api::kProxyAgentPort, pod};
    FLEETADM_TRY(auto forward, proxy::PodForward::start(as_addon_, as_addon_config_, std::move(target)));
    servers.push_back({"127.0.0.1", std::to_string(forward->port())});
    forwards_.push_back(std::move(forward));
  }
  return servers;
}

Status ClusterProxy::serve(const Told& told) {
  stop();
  FLEETADM_TRY(auto servers, proxy_servers(told));
  auto certificate = [credential = tunnel_]() -> Result<pki::KeyPair> {
    FLEETADM_TRY(const kube::Credentials now, credential->current());
    return pki::KeyPair{now.client_certificate, now.client_key};
  };
  std::function<Result<std::optional<kube::ForwardProxy>>(const std::string& host)> forward_proxy;
  if (!told.settings.by_port_forward)  // else they are reached within this process
    forward_proxy = [hub = as_addon_config_](const std::string& host) { return kube::forward_proxy(hub, host); };
  proxy::AgentServerOptions server{.cluster = options_.cluster,
                                   .settings = told.settings,
                                   .servers = std::move(servers),
                                   .proxy_ca = told.proxy_ca,
                                   .forward_proxy = std::move(forward_proxy),
                                   .certificate = std::move(certificate),
                                   .serving = told.serving,
                                   .member_config = as_account_config_,
                                   .member = as_account_,
                                   .hub = as_addon_,
                                   .clock = options_.clock};
  FLEETADM_TRY(std::shared_ptr<proxy::AgentServer> started, proxy::AgentServer::start(std::move(server)));
  served_ = std::make_unique<Told>(told);
  if (told.settings.replicas > 0) {
    log::warn(kProxyLog, "pods of Deployment " + told.ns + "/" + std::string(proxy::kProxyAgentDeployment) +
                             " serve this cluster, too; scale it to 0 on the hub for this agent alone to do so");
  }
  const std::lock_guard lock(mutex_);
  server_ = std::move(started);
  return {};
}

void ClusterProxy::stop() {
  served_.reset();
  std::shared_ptr<proxy::AgentServer> server;
  {
    const std::lock_guard lock(mutex_);
    server = std::move(server_);
  }
  server.reset();
  forwards_.clear();
}

/// The hub's manager knows by the lease that the add-on works, so it is renewed only while it does.
Result<controller::Outcome> ClusterProxy::report(const Told& told) {
  std::string failure;
  std::size_t tunnels = 0;
  {
    const std::lock_guard lock(mutex_);
    failure = server_->failure();
    tunnels = server_->tunnels();
  }
  note(failure);
  if (tunnels == 0) return controller::Outcome{kUntilThere};
  const Status renewed =
      kube::renew_heartbeat(as_account_, told.ns, std::string(api::kClusterProxyAddon), kHeartbeat, options_.clock->now());
  if (!renewed) {
    if (renewed.error().code == 401) account_->forget();
    note(renewed.error().wrap("the add-on's lease").message);
    return controller::Outcome{kUntilThere};
  }
  return controller::Outcome{kWhileServing};
}

void ClusterProxy::note(std::string problem) {
  const std::lock_guard lock(mutex_);
  if (problem == problem_) return;
  if (!problem.empty()) log::warn(kProxyLog, problem);
  problem_ = std::move(problem);
}

Json ClusterProxy::describe() const {
  const std::lock_guard lock(mutex_);
  return {{"problem", problem_}, {"tunnels", server_ ? server_->tunnels() : 0}};
}

}  // namespace fleetadm::agent
