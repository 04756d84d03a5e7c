#include "core/agent/session.h"

#include <algorithm>
#include <utility>

#include "core/addon/agent/addon_controllers.h"
#include "core/agent/join.h"
#include "core/api/cluster_lease.h"
#include "core/api/cluster_proxy.h"
#include "core/registration/agent/hub_check.h"
#include "core/registration/agent/lease.h"
#include "core/registration/agent/reporter.h"
#include "core/registration/agent/served_apis.h"
#include "core/registration/agent/topology.h"
#include "kubeclient/base/backoff.h"
#include "kubeclient/base/log.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::agent {
namespace reg = registration::agent;
namespace {

constexpr const char* kKey = "cluster";  // of controllers that have one thing to look after
constexpr auto kSoon = std::chrono::seconds(5);
constexpr auto kPartsAgain = std::chrono::milliseconds(500);
constexpr auto kSpokeTimeout = std::chrono::seconds(10);
constexpr auto kApisLook = std::chrono::minutes(5);
constexpr auto kApisAgain = std::chrono::minutes(1);  // where a part of them could not be read
constexpr auto kApisLater = std::chrono::hours(1);    // where the hub gives no right to tell them
constexpr int kApisRefused = 12;                      // times, before that is what it means
constexpr int kRenewals = 3;                          // of the lease that a hub has to miss before it counts as silent
constexpr auto kSyncTimeout = std::chrono::minutes(10);
constexpr auto kWorksLook = std::chrono::minutes(1);  // whether the hub lets them be read, where it does not the cluster

std::vector<std::string> one_key(const kube::CachedObject& /*object*/) { return {kKey}; }

controller::Manager::Options of_session(const Runtime& runtime, int threads) {
  controller::Manager::Options options;
  options.threads = threads;
  options.clock = runtime.parts.clock;
  options.pool = runtime.pool;
  options.log_file = runtime.parts.log_file;
  return options;
}

}  // namespace

Session::Session(Runtime& runtime, reg::Identity identity, reg::Endpoint endpoint, std::optional<Bootstrap> bootstrap,
                 const reg::HubSecret& secret)
    : runtime_(runtime),
      identity_(std::move(identity)),
      endpoint_(std::move(endpoint)),
      bootstrap_(std::move(bootstrap)),
      credentials_(std::make_shared<HubCredentials>(*runtime.driver)),
      hub_(connect_to_hub(runtime, endpoint_, credentials_)),
      heard_(runtime.now()),
      bootstrap_read_(runtime.now()),
      began_(runtime.now()),
      registered_(began_),
      accept_pause_(runtime.options.timing.accept_first) {
  credentials_->set(secret);
}

Session::~Session() {
  runtime_.gateway.show({});
  runtime_.cluster_proxy.show({});
}

kube::Client connect_to_hub(const Runtime& runtime, const reg::Endpoint& endpoint,
                            std::shared_ptr<kube::CredentialSource> credentials) {
  kube::RestConfig config = reg::config_of(endpoint);
  config.credentials = std::move(credentials);
  return runtime.parts.connect(config);
}

std::optional<SessionEnd> Session::leaves_hub(Instant now) const {
  const auto end = [this](const std::string& why) {
    return SessionEnd{SessionEnd::Why::kLookAgain, "the hub at " + endpoint_.server + " " + why + ": looking for another one"};
  };
  const std::optional<Json> managed = registration_ ? cluster() : std::nullopt;
  Duration timeout = runtime_.options.hub_connection_timeout;
  if (managed) timeout = std::max(timeout, kRenewals * api::lease_period(*managed));
  if (now - heard_.load() >= timeout) return end("has not answered for " + format_duration(timeout));
  if (!registration_) {
    if (now - began_ < runtime_.options.timing.other_hub_look) return std::nullopt;
    return SessionEnd{SessionEnd::Why::kLookAgain, {}};
  }
  if (managed && reg::is_denied(*managed)) return end("does not accept cluster " + identity_.cluster + " any more");
  return std::nullopt;
}

// Whether the session has to end. Fired signals are consumed here: the bootstrap kubeconfig is read again.
std::optional<SessionEnd> Session::over() {
  const Instant now = runtime_.now();
  if (credentials_->expires() <= now) return SessionEnd{SessionEnd::Why::kCredentialLost, "the client certificate expired"};
  if (rejections_.lasting(now, runtime_.options.timing.rejected_for)) {
    return SessionEnd{SessionEnd::Why::kCredentialLost, "the hub does not take the client certificate any more"};
  }
  if (runtime_.hubs.several()) {
    if (auto left = leaves_hub(now)) return left;
  }
  const bool reread = runtime_.hubs.from_files() && now - bootstrap_read_ >= runtime_.options.timing.bootstrap_reread;
  if (runtime_.bootstrap_changed.take() || reread) {
    bootstrap_read_ = now;
    // Unreadable or gone: the running session is no worse for it.
    if (auto current = runtime_.hubs.read_for(endpoint_); current && *current) {
      bootstrap_ = std::move(**current);
      runtime_.certificates.hold(bootstrap_, identity_.cluster);
      if (!(bootstrap_->endpoint == endpoint_)) {
        return SessionEnd{SessionEnd::Why::kBootstrapChanged, "the bootstrap kubeconfig names another hub"};
      }
    }
  }
  return std::nullopt;
}

bool Session::accepted() {
  const auto found = hub_.find(api::managed_clusters(), {}, identity_.cluster);
  if (found) heard_ = runtime_.now();
  if (found && *found && reg::is_accepted(**found) && !(runtime_.hubs.several() && reg::is_denied(**found))) return true;
  rejections_.note("cluster", found ? std::nullopt : std::optional<Error>(found.error()), runtime_.now());
  if (!found && found.error().code == 403) keep_works();
  const bool trouble = !found && found.error().category != Category::kAuth;
  runtime_.phase.set("waiting", "for the hub at " + endpoint_.server + " to accept cluster " + identity_.cluster +
                                    (work_ ? ", whose works it lets this agent read" : "") +
                                    (trouble ? ": " + found.error().message : std::string()));
  // Rights come with acceptance, so a cluster that was deleted meanwhile cannot be told from one that waits.
  if (bootstrap_ && runtime_.now() - registered_ >= kRegisterAgain) {
    registered_ = runtime_.now();
    const Status done = register_cluster(runtime_, runtime_.parts.connect(bootstrap_->config), identity_);
    if (!done) log::warn("agent", done.error().message);
  }
  return false;
}

/// A hub of upstream takes the rights of a cluster that is being deleted away at once, but for those on its works, which stay
/// until the works are gone. An agent that starts meanwhile has to take them back, so that they can go.
void Session::keep_works() {
  const Instant now = runtime_.now();
  if (!runtime_.parts.add_work || (works_looked_ && now - *works_looked_ < kWorksLook)) return;
  works_looked_ = now;
  kube::ListOptions one;
  one.limit = 1;
  const auto works = hub_.list(api::manifest_works(), identity_.cluster, one);
  if (works) {
    start_works();
  } else if (works.error().code == 403) {
    work_.reset();
  }
}

void Session::start_works() {
  if (!runtime_.parts.add_work || work_) return;
  work_.emplace(of_session(runtime_, kWorkThreads));
  runtime_.parts.add_work(*work_, Joined{identity_, endpoint_.server, hub_, runtime_.work_spoke});
  begin(*work_);
}

void Session::begin(controller::Manager& manager) {
  runtime_.health.count_too(manager);
  if (const Status begun = manager.start(); !begun) log::error("agent", begun.error().message);
}

Session::Look Session::look() {
  const Timing& timing = runtime_.options.timing;
  const bool credential_changed = runtime_.credential_changed.take();
  if (!registration_ && !accepted()) {
    if (auto end = over()) return {{}, std::move(end)};
    return {std::exchange(accept_pause_, std::min(accept_pause_ * 3 / 2, timing.accept_longest)), std::nullopt};
  }
  if (!registration_) start_controllers();
  if (credential_changed && certificate_) {
    certificate_->changed();
    certificate_queue_->add(kKey);
  }
  rejections_.note("watch", clusters_->last_error(), runtime_.now());
  if (auto end = over()) return {{}, std::move(end)};
  // Where its caches cannot be filled, the hub has taken the rights away again.
  if (!clusters_->synced() && std::chrono::steady_clock::now() - started_ > kSyncTimeout) {
    const auto error = clusters_->last_error();
    return {{}, SessionEnd{SessionEnd::Why::kLookAgain, "the cluster cannot be watched" + (error ? ": " + error->message : "")}};
  }
  return {timing.check, std::nullopt};
}

std::optional<Json> Session::cluster() const {
  const kube::CachedPtr cached = clusters_->get(identity_.cluster);
  if (cached == nullptr) return std::nullopt;
  return cached->decode();
}

bool Session::awaits_heartbeat(const Json& cluster) const {
  return controller::condition_is(cluster, api::kConditionAvailable, "Unknown") &&
         runtime_.now() - beat_.load() >= api::lease_grace(cluster);
}

void Session::add_lease(const controller::ControllerOptions& base) {
  auto lease = std::make_shared<reg::LeaseRenewer>(hub_, identity_.cluster, runtime_.parts.clock, random_share);
  controller::ControllerOptions row = base;
  row.name = "lease";
  row.resync = runtime_.options.healthcheck_period;
  const auto queue = registration_->add(row, [this, lease](const std::string&, std::stop_token) -> Result<controller::Outcome> {
    if (!parts_->not_ready().empty()) {
      if (!clusters_->last_error()) heard_ = runtime_.now();  // the hub is not what is amiss
      return controller::Outcome{kPartsAgain};
    }
    const std::optional<Json> now = cluster();
    auto outcome = lease->reconcile(now ? reg::renewal_period(*now) : std::nullopt);
    rejections_.note("lease", outcome ? std::nullopt : std::optional<Error>(outcome.error()), runtime_.now());
    if (const auto renewed = lease->renewed()) {
      heard_ = std::max(heard_.load(), *renewed);
      beat_ = *renewed;
    }
    if (outcome) return outcome;
    log::warn("agent", "lease: " + outcome.error().message);
    return controller::Outcome{kSoon};
  });
  controller::Manager::enqueue_on(*clusters_, queue, one_key);
}

void Session::add_served_apis() {
  const kube::Client spoke = runtime_.spoke.with_timeout(kSpokeTimeout);
  const auto refused = std::make_shared<int>(0);
  const auto publish = [this, spoke, refused](const std::string&, const std::stop_token&) -> Result<controller::Outcome> {
    const auto now = cluster();
    if (!now || !controller::condition_is(*now, api::kConditionReady, "True")) return controller::Outcome{kSoon};
    if (is_deleting(*now)) return controller::Outcome{};
    const auto complete = reg::publish_served_apis(hub_, spoke, *now, runtime_.now());
    if (complete) {
      *refused = 0;
      return controller::Outcome{*complete ? Duration(kApisLook) : Duration(kApisAgain)};
    }
    log::info(1, "agent", "the APIs of the cluster are not told: " + complete.error().message);
    if (complete.error().category != Category::kAuth) return controller::Outcome{kApisAgain};
    // The right comes with the condition Ready, and from a hub of upstream never.
    return controller::Outcome{++*refused <= kApisRefused ? Duration(kSoon) : Duration(kApisLater)};
  };
  registration_->add({.name = "served-apis"}, publish)->add(kKey);
}

void Session::add_status(const controller::ControllerOptions& base) {
  const AgentOptions& options = runtime_.options;
  const std::shared_ptr<Clock> clock = runtime_.parts.clock;
  // Weak: the queue's controller owns the sources that call this.
  const auto status_queue = std::make_shared<std::weak_ptr<controller::Queue>>();
  const auto changed = [status_queue] {
    if (const auto queue = status_queue->lock()) queue->add(kKey);
  };
  const kube::Client spoke = runtime_.spoke.with_timeout(kSpokeTimeout);
  const auto source = [&](const kube::Resource& resource, kube::InformerOptions which) {
    return std::make_shared<reg::OptionalSource>(spoke, resource, std::move(which), changed);
  };
  kube::InformerOptions nodes;
  nodes.project = options.report_figures ? reg::project_placed_node : reg::project_node;
  reg::SpokeSources sources{source(kube::resources::nodes(), std::move(nodes)), source(api::cluster_claims(), {}),
                            source(api::cluster_properties(), {}), nullptr, nullptr};
  // A hosted agent is not deployed on its cluster.
  if (!runtime_.parts.home) sources.own_deployment = source(kube::resources::deployments(), reg::own_deployment(options.ns));
  // Available before the heartbeat would be Unknown again at once.
  const auto unheard = std::make_shared<bool>(false);
  sources.parts = [parts = parts_, unheard] {
    std::string missing = parts->not_ready();
    return missing.empty() && *unheard ? std::string("the heartbeat has not come to the hub yet") : missing;
  };
  if (options.report_figures) sources.pods = std::make_shared<reg::PodWatch>(spoke, changed);
  reg::ClaimOptions claims{static_cast<std::size_t>(std::max<std::int64_t>(options.max_custom_cluster_claims, 0)),
                           options.reserved_cluster_claim_suffixes, FLEETADM_VERSION, options.hosted_by};
  auto events = std::make_shared<kube::Recorder>(hub_, "klusterlet-agent", "klusterlet-agent-" + options.instance, clock);
  auto reporter = std::make_shared<reg::StatusReporter>(hub_, spoke, endpoint_.server, std::move(claims), std::move(sources),
                                                        std::move(events), clock);
  controller::ControllerOptions row = base;
  row.name = "status";
  row.resync = options.healthcheck_period;
  const auto queue =
      registration_->add(row, [this, reporter, unheard](const std::string&, std::stop_token) -> Result<controller::Outcome> {
        const auto now = cluster();
        if (!now) return controller::Outcome{};
        *unheard = awaits_heartbeat(*now);
        auto outcome = reporter->reconcile(*now);
        if (outcome) return outcome;
        const bool stale = outcome.error().category == Category::kConflict;
        if (!stale) log::warn("agent", "status: " + outcome.error().message);
        return controller::Outcome{stale ? Duration(std::chrono::milliseconds(300)) : Duration(kSoon)};
      });
  *status_queue = queue;
  controller::Manager::enqueue_on(*clusters_, queue, one_key);
}

void Session::add_certificate(const controller::ControllerOptions& base) {
  const Duration period = runtime_.options.timing.certificate_check;
  reg::CertificateKeeper::Options keep{
      identity_, endpoint_, {runtime_.options.client_cert_expiration_seconds}, period, runtime_.credential_told};
  const auto use = [this](const reg::HubSecret& secret) {
    credentials_->set(secret);
    runtime_.certificates.hold(secret);
  };
  certificate_ = std::make_shared<reg::CertificateKeeper>(hub_, runtime_.store, std::move(keep), runtime_.parts.clock, use);
  controller::ControllerOptions row = base;
  row.name = "certificate";
  row.resync = period;
  certificate_queue_ = registration_->add(row, [this](const std::string&, std::stop_token) {
    const auto now = cluster();
    return certificate_->reconcile(now && reg::is_accepted(*now));
  });
}

void Session::add_gateway(const controller::ControllerOptions& base) {
  controller::ControllerOptions row = base;
  row.name = "gateway";
  const auto queue =
      registration_->add(row, [this](const std::string&, const std::stop_token&) { return gateway_->reconcile(); });
  GatewayTunnelsOptions options{
      hub_, runtime_.spoke, runtime_.spoke_config, reg::config_of(endpoint_), {}, [queue] { queue->add(kKey); }};
  options.certificate = [credentials = credentials_]() -> Result<pki::KeyPair> {
    FLEETADM_TRY(const kube::Credentials now, credentials->current());
    return pki::KeyPair{now.client_certificate, now.client_key};
  };
  gateway_ = std::make_unique<GatewayTunnels>(std::move(options));
  runtime_.gateway.show([this] { return gateway_->describe(); });
}

void Session::start_controllers() {
  started_ = std::chrono::steady_clock::now();
  registration_.emplace(of_session(runtime_, kRegistrationThreads));
  kube::InformerOptions own;
  own.field_selector = "metadata.name=" + identity_.cluster;
  clusters_ = registration_->informer(hub_, api::managed_clusters(), own);
  // Failures come back within seconds, never after a long back-off: the hub's patience is five lease periods.
  controller::ControllerOptions row;
  row.resync_keys = {kKey};
  add_lease(row);
  add_status(row);
  if (runtime_.options.report_figures) add_served_apis();
  const bool certificate = runtime_.driver->has_certificate();
  if (certificate) add_certificate(row);
  if (runtime_.options.gateway && certificate) add_gateway(row);  // tunnels know the cluster by its certificate
  parts_->add("registration", registration_->unsynced());
  begin(*registration_);
  start_works();
  if (work_) parts_->add("works", work_->unsynced());
  start_addons();
  parts_->add("add-ons", addons_->unsynced_of_served());  // there are hubs without
  begin(*addons_);
  parts_->complete();
  runtime_.phase.set("joined", "cluster " + identity_.cluster + " at " + endpoint_.server);
}

void Session::start_addons() {
  const AgentOptions& options = runtime_.options;
  addons_.emplace(of_session(runtime_, kAddonThreads));
  addon::agent::AddonOptions addons{identity_, endpoint_, options.addon_driver, options.addon_token_expiration_seconds,
                                    options.timing.certificate_check};
  addon::agent::add_addon_controllers(*addons_, hub_, runtime_.spoke.with_timeout(kSpokeTimeout), addons, runtime_.parts.clock);
  if (options.cluster_proxy) add_cluster_proxy();
}

void Session::add_cluster_proxy() {
  kube::InformerOptions own;
  own.ns = identity_.cluster;
  const auto addons = addons_->informer(hub_, api::managed_cluster_addons(), own);
  const std::string key = kube::object_key(identity_.cluster, api::kClusterProxyAddon);
  const auto find_addon = [addons, key]() -> std::optional<Json> {
    const kube::CachedPtr cached = addons->get(key);
    if (cached == nullptr) return std::nullopt;
    return cached->decode();
  };
  cluster_proxy_ = std::make_unique<ClusterProxy>(
      ClusterProxyOptions{identity_.cluster, endpoint_, find_addon, runtime_.spoke.with_timeout(kSpokeTimeout),
                          runtime_.spoke_config, runtime_.parts.connect, runtime_.parts.clock});
  runtime_.cluster_proxy.show([this] { return cluster_proxy_->describe(); });
  controller::ControllerOptions row;
  row.name = "cluster-proxy";
  const auto queue =
      addons_->add(row, [this](const std::string&, const std::stop_token&) { return cluster_proxy_->reconcile(); });
  controller::Manager::enqueue_on(*addons, queue, [key](const kube::CachedObject& object) {
    return object.key() == key ? std::vector<std::string>{kKey} : std::vector<std::string>{};
  });
}

}  // namespace fleetadm::agent
