#include "core/agent/agent.h"

#include "core/agent/join.h"
#include "core/agent/memory.h"
#include "core/agent/runtime.h"
#include "core/agent/session.h"
#include "kubeclient/base/backoff.h"
#include "kubeclient/base/log.h"
#include "kubeclient/base/names.h"
#include "kubeclient/lease/leader.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::agent {
namespace reg = registration::agent;
namespace {

constexpr const char* kComponent = "klusterlet-agent";  // upstream's word for registration and work in one process
constexpr auto kGoodSession = std::chrono::minutes(5);
constexpr auto kNoBootstrapLook = std::chrono::seconds(30);

// Fires the signal whenever a secret comes, changes or goes. Its content is not kept.
std::shared_ptr<kube::Informer> watch_secret(const kube::Client& spoke, const std::string& ns, const std::string& name,
                                             Signal& signal) {
  kube::InformerOptions options;
  options.ns = ns;
  options.field_selector = "metadata.name=" + name;
  options.project = [](Json& secret) {
    for (const char* member : {"data", "stringData"}) erase_at(secret, {member});
    erase_at(secret, {"metadata", "annotations"});
  };
  auto informer = kube::Informer::make(spoke, kube::resources::secrets(), std::move(options));
  informer->on_event([&signal](kube::EventType, const kube::CachedPtr&, const kube::CachedPtr&) { signal.fire(); });
  informer->start();
  return informer;
}

// Stops on the way out, before what its handlers point to goes away.
class Watching {
 public:
  explicit Watching(std::shared_ptr<kube::Informer> informer) : informer_(std::move(informer)) {}
  ~Watching() { informer_->stop(); }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

 private:
  std::shared_ptr<kube::Informer> informer_;
};

class Supervisor {
 public:
  explicit Supervisor(Runtime& runtime)
      : runtime_(runtime),
        retry_(runtime.options.timing.retry_first, runtime.options.timing.retry_longest),
        rejoin_(runtime.options.timing.retry_first * 5, runtime.options.timing.rejoin_longest) {}

  Status run(std::stop_token stop);

 private:
  /// One turn: a join, a session, or a wait. Errors are tried again.
  Status turn(const reg::Identity& identity, const reg::HubSecret& stored, std::stop_token stop);
  Result<reg::HubSecret> keep_identity(const reg::Identity& identity) const;
  void session(const reg::Identity& identity, const reg::HubSecret& stored, const std::optional<Bootstrap>& bootstrap,
               std::stop_token stop);

  Runtime& runtime_;
  Backoff retry_;
  Backoff rejoin_;
  std::string lost_;  // why the stored credential is no good although it looks good
};

Status Supervisor::run(std::stop_token stop) {
  const AgentOptions& options = runtime_.options;
  while (!stop.stop_requested()) {
    Status done;
    if (auto stored = runtime_.store.load(); !stored) {
      done = tl::unexpected(stored.error());
    } else if (auto identity = reg::choose_identity({options.cluster_name, options.agent_id}, stored->identity()); !identity) {
      // Flags were checked at start: the secret holds something that is no name, which a person has to repair.
      done = tl::unexpected(identity.error().wrap("secret " + options.ns + "/" + options.hub_kubeconfig_secret));
    } else {
      done = turn(*identity, *stored, stop);
    }
    if (done) {
      retry_.reset();
      continue;
    }
    if (stop.stop_requested()) break;
    const Duration pause = retry_.next();
    runtime_.phase.set("retrying", done.error().message);
    if (!done.error().hint.empty()) log::info(0, "agent", done.error().hint);
    runtime_.bootstrap_changed.wait(pause, stop);
  }
  runtime_.phase.set("stopped", {});
  return {};
}

// The names are stored before anything is said to a hub: whoever approves must see the same name again after a restart.
Result<reg::HubSecret> Supervisor::keep_identity(const reg::Identity& identity) const {
  return runtime_.store.edit([&](reg::HubSecret& secret) -> Status {
    const AgentOptions& options = runtime_.options;
    const auto settle = [&secret](const char* key, const std::string& flag, const std::string& fresh) {
      std::string& stored = secret.data[key];
      // A second agent may have been faster; its choice stands where flags do not say otherwise.
      if (!flag.empty() || stored.empty()) stored = !flag.empty() ? flag : fresh;
    };
    settle(reg::kClusterNameKey, options.cluster_name, identity.cluster);
    settle(reg::kAgentNameKey, options.agent_id, identity.agent);
    return {};
  });
}

Status Supervisor::turn(const reg::Identity& wanted, const reg::HubSecret& loaded, std::stop_token stop) {
  reg::HubSecret stored = loaded;
  if (!(stored.identity() == wanted)) {
    FLEETADM_TRY(stored, keep_identity(wanted));
  }
  const reg::Identity identity = stored.identity();
  runtime_.bootstrap_changed.wait(Duration::zero(), stop);  // what fired until now is read now
  const auto bootstrap = runtime_.bootstrap.read();
  std::optional<reg::Endpoint> hub;
  if (bootstrap && *bootstrap) hub = (*bootstrap)->endpoint;
  std::string why = reg::why_unusable(stored, identity, hub, runtime_.now());
  if (why.empty() && lost_.empty()) {
    if (!bootstrap) log::warn("agent", bootstrap.error().message);
    session(identity, stored, bootstrap ? *bootstrap : std::nullopt, stop);
    return {};
  }
  if (why.empty()) why = lost_;
  FLEETADM_CHECK(bootstrap.map([](const auto&) {}));
  if (!*bootstrap) {
    runtime_.phase.set("waiting", "for " + runtime_.bootstrap.name() + " (" + why + ")");
    runtime_.bootstrap_changed.wait(kNoBootstrapLook, stop);
    return {};
  }
  log::info(1, "agent", "joining: " + why);
  FLEETADM_TRY(const bool joined, join_hub(runtime_, identity, **bootstrap, stop));
  if (joined) lost_.clear();
  return {};
}

void Supervisor::session(const reg::Identity& identity, const reg::HubSecret& stored, const std::optional<Bootstrap>& bootstrap,
                         std::stop_token stop) {
  const Instant began = runtime_.now();
  const Result<SessionEnd> end = run_session(runtime_, identity, stored, bootstrap, stop);
  if (runtime_.now() - began >= kGoodSession) rejoin_.reset();
  if (!end) {
    lost_ = end.error().message;
    return;
  }
  if (end->why == SessionEnd::Why::kStopped) return;
  log::warn("agent", end->detail);
  if (end->why != SessionEnd::Why::kCredentialLost) return;
  lost_ = end->detail;
  // A hub that refuses what it has just issued must not be flooded with requests.
  const Duration pause = rejoin_.next();
  runtime_.phase.set("waiting", "to join again: " + lost_);
  runtime_.bootstrap_changed.wait(pause, stop);
}

Status supervise(Runtime& runtime, std::stop_token stop) {
  const AgentOptions& options = runtime.options;
  const Watching credential(watch_secret(runtime.spoke, options.ns, options.hub_kubeconfig_secret, runtime.credential_changed));
  std::optional<Watching> bootstrap;
  if (!runtime.bootstrap.is_file()) {
    bootstrap.emplace(watch_secret(runtime.spoke, options.ns, options.bootstrap_secret, runtime.bootstrap_changed));
  }
  return Supervisor(runtime).run(stop);
}

Status validate(const AgentOptions& options) {
  if (options.ns.empty()) return fail(Category::kUsage, "the agent's namespace is empty");
  const auto expiration = options.client_cert_expiration_seconds;
  if (expiration != 0 && expiration < 3600) {
    return fail(Category::kUsage, "client certificate expiration of " + std::to_string(expiration) + " s is too short",
                "use 0 (the hub's choice) or at least 3600");
  }
  if (options.healthcheck_period <= Duration::zero()) return fail(Category::kUsage, "the health check period must be positive");
  if (!options.work_service_account.empty() && !is_dns_subdomain(options.work_service_account)) {
    return fail(Category::kUsage, "\"" + options.work_service_account + "\" is not a valid service account name");
  }
  if (options.max_custom_cluster_claims < 0)
    return fail(Category::kUsage, "the limit of custom cluster claims must not be negative");
  for (const std::string& url : options.external_server_urls) {
    if (!url.starts_with("https://")) return fail(Category::kUsage, "external server URL \"" + url + "\" is not https");
  }
  return reg::choose_identity({options.cluster_name, options.agent_id}, {}).map([](const reg::Identity&) {});
}

}  // namespace

Status run_agent(const AgentOptions& options, const kube::RestConfig& spoke, const AgentParts& parts, std::stop_token stop) {
  FLEETADM_CHECK(validate(options));
  keep_memory_small();
  const kube::Client client = parts.connect(spoke);
  kube::RestConfig as_worker = spoke;
  if (!options.work_service_account.empty()) {
    as_worker.impersonate_user = "system:serviceaccount:" + options.ns + ":" + options.work_service_account;
  }
  controller::Manager health({.threads = 1, .health_address = options.health_address, .clock = parts.clock});
  Runtime runtime{options,
                  parts,
                  client,
                  options.work_service_account.empty() ? client : parts.connect(as_worker),
                  spoke.ca_data,
                  reg::HubSecretStore(client, options.ns, options.hub_kubeconfig_secret),
                  BootstrapSource(client, options.ns, options.bootstrap_secret, options.bootstrap_kubeconfig),
                  {},
                  {},
                  {},
                  parts.pool ? parts.pool : std::make_shared<controller::WorkerPool>(kRegistrationThreads + kWorkThreads),
                  health};
  health.add_page("/debug/agent", [&runtime](std::string_view) {
    return controller::Manager::Page{200, "application/json", dump_json(runtime.phase.describe())};
  });
  FLEETADM_CHECK(health.serve_health());
  if (!options.leader_elect) return supervise(runtime, stop);
  kube::LeaderOptions election;
  election.ns = options.ns;
  election.name = std::string(kComponent) + "-lock";
  election.identity = options.instance;
  return kube::run_as_leader(
      client, election, [&runtime](std::stop_token leading) { return supervise(runtime, leading); }, stop);
}

}  // namespace fleetadm::agent
