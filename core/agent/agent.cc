#include "core/agent/agent.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "core/agent/runtime.h"
#include "core/agent/supervisor.h"
#include "core/controller/memory.h"
#include "core/registration/agent/awsirsa_driver.h"
#include "core/registration/expiry/figures.h"
#include "kubeclient/base/log_file.h"
#include "kubeclient/base/names.h"
#include "kubeclient/lease/leader.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::agent {
namespace reg = registration::agent;
namespace {

constexpr const char* kComponent = "klusterlet-agent";   // upstream's word for registration and work in one process
constexpr auto kFirstTidying = std::chrono::seconds(5);  // of memory; the wait doubles up to
constexpr auto kTidying = std::chrono::minutes(1);
/// The first step comes once the secrets are watched, so that it is not taken again for what it has seen; where they cannot be
/// watched, after this.
constexpr auto kUnwatched = std::chrono::seconds(1);

Status validate(const AgentOptions& options) {
  if (options.ns.empty()) return fail(Category::kUsage, "the agent's namespace is empty");
  const auto expiration = options.client_cert_expiration_seconds;
  if (expiration != 0 && expiration < 3600) {
    return fail(Category::kUsage, "client certificate expiration of " + std::to_string(expiration) + " s is too short",
                "use 0 (the hub's choice) or at least 3600");
  }
  if (options.bootstrap_secrets.empty() && options.bootstrap_kubeconfigs.empty())
    return fail(Category::kUsage, "the agent has no bootstrap secret");
  if (options.hub_connection_timeout <= Duration::zero())
    return fail(Category::kUsage, "the timeout of the connection to the hub must be positive");
  if (options.healthcheck_period <= Duration::zero()) return fail(Category::kUsage, "the health check period must be positive");
  if (!options.work_service_account.empty() && !is_dns_subdomain(options.work_service_account)) {
    return fail(Category::kUsage, "\"" + options.work_service_account + "\" is not a valid service account name");
  }
  if (options.awsirsa) {
    for (const std::string& arn : {options.awsirsa->hub_arn, options.awsirsa->managed_arn})
      FLEETADM_CHECK(registration::aws::parse_eks_arn(arn).map([](const registration::aws::EksCluster&) {}));
  }
  if (options.max_custom_cluster_claims < 0)
    return fail(Category::kUsage, "the limit of custom cluster claims must not be negative");
  for (const std::string& url : options.external_server_urls) {
    if (!url.starts_with("https://")) return fail(Category::kUsage, "external server URL \"" + url + "\" is not https");
  }
  return reg::choose_identity({options.cluster_name, options.agent_id}, {}).map([](const reg::Identity&) {});
}

/// Of options that are valid.
std::shared_ptr<const reg::RegistrationDriver> driver_of(const AgentOptions& options) {
  if (!options.awsirsa) return reg::csr_driver({options.client_cert_expiration_seconds});
  return reg::awsirsa_driver(*registration::aws::parse_eks_arn(options.awsirsa->hub_arn),
                             *registration::aws::parse_eks_arn(options.awsirsa->managed_arn), options.awsirsa->role_suffix);
}

/// An agent with all that it needs.
class Agent final : public RunningAgent {
 public:
  Agent(const AgentOptions& options, const kube::RestConfig& spoke, const AgentParts& parts)
      : health_(std::make_unique<controller::Manager>(
            controller::Manager::Options{.threads = 1, .health_address = options.health_address, .clock = parts.clock})),
        runtime_(make_runtime(options, spoke, parts, *health_)) {
    health_->add_page("/debug/agent", [this](std::string_view) {
      return controller::Manager::Page{200, "application/json", dump_json(describe())};
    });
    health_->add_metrics([this] { return registration::expiry::figures(certificates()); });
  }
  ~Agent() override {
    stop();
    health_.reset();  // its page shows what the runtime holds
  }

  Json describe() const override {
    Json said = runtime_.phase.describe();
    if (Json gateway = runtime_.gateway.describe(); !gateway.is_null()) said["gateway"] = std::move(gateway);
    if (Json addon = runtime_.cluster_proxy.describe(); !addon.is_null()) said["clusterProxy"] = std::move(addon);
    return said;
  }

  std::vector<registration::expiry::Hop> certificates() const override { return runtime_.certificates.judged(runtime_.now()); }

  Status serve_health() { return health_->serve_health(); }
  const kube::Client& home() const { return runtime_.home; }

  /// Once in its life.
  Status start() {
    controller::Manager::Options options;
    options.threads = kSupervisorThreads;
    options.clock = runtime_.parts.clock;
    options.pool = runtime_.pool;
    options.log_file = runtime_.parts.log_file;
    steps_.emplace(std::move(options));
    const auto queue =
        steps_->add({.name = "agent"}, [this](const std::string&, const std::stop_token&) -> Result<controller::Outcome> {
          return controller::Outcome{supervisor_->step()};
        });
    const auto wake = [queue] { queue->add("agent"); };
    supervisor_.emplace(runtime_, wake);
    runtime_.bootstrap_changed.set_hook(wake);
    runtime_.credential_changed.set_hook(wake);
    runtime_.credential_told = watch(runtime_.options.hub_kubeconfig_secret, runtime_.credential_changed, wake);
    if (!runtime_.hubs.from_files()) {
      for (const std::string& secret : runtime_.options.bootstrap_secrets) watch(secret, runtime_.bootstrap_changed, wake);
    }
    queue->add_after("agent", kUnwatched);
    return steps_->start();
  }

  void stop() {
    shared_secrets_.clear();
    for (const auto& informer : secrets_) informer->stop();
    secrets_.clear();
    if (!steps_) return;
    steps_.reset();
    supervisor_.reset();
    const log::ToFile scope(runtime_.parts.log_file);
    runtime_.phase.set("stopped", {});
  }

 private:
  static std::vector<BootstrapSource> bootstrap_sources(const AgentOptions& options, const kube::Client& home,
                                                        const std::string& ns) {
    std::vector<BootstrapSource> sources;
    for (const std::string& file : options.bootstrap_kubeconfigs) sources.emplace_back(home, ns, "", file);
    if (!sources.empty()) return sources;
    for (const std::string& secret : options.bootstrap_secrets) sources.emplace_back(home, ns, secret, "");
    return sources;
  }

  static Runtime make_runtime(const AgentOptions& options, const kube::RestConfig& spoke, const AgentParts& parts,
                              controller::Manager& health) {
    const kube::Client client = parts.connect(spoke);
    const kube::Client home = parts.home.value_or(client);
    const std::string& secrets = parts.home ? options.home_ns : options.ns;
    kube::RestConfig as_worker = spoke;
    if (!options.work_service_account.empty()) {
      as_worker.impersonate_user = "system:serviceaccount:" + options.ns + ":" + options.work_service_account;
    }
    return Runtime{options,
                   parts,
                   home,
                   client,
                   spoke,
                   options.work_service_account.empty() ? client : parts.connect(as_worker),
                   spoke.ca_data,
                   reg::HubSecretStore(home, secrets, options.hub_kubeconfig_secret),
                   driver_of(options),
                   HubChoice(bootstrap_sources(options, home, secrets)),
                   {},
                   {},
                   {},
                   {},
                   {},
                   {},
                   {},
                   parts.pool ? parts.pool : std::make_shared<controller::WorkerPool>(kAgentThreads),
                   health};
  }

  // Fires the signal whenever a secret comes, changes or goes, and wakes where there is none. Its content is not kept. Answers
  // what tells whether it does so now.
  std::function<bool()> watch(const std::string& name, Signal& signal, const std::function<void()>& wake) {
    if (runtime_.parts.secrets) {
      shared_secrets_.push_back(runtime_.parts.secrets->on(name, {[&signal] { signal.fire(); }, wake}));
      return [secrets = runtime_.parts.secrets] { return secrets->tells(); };
    }
    kube::InformerOptions options;
    options.ns = runtime_.store.ns();
    options.field_selector = "metadata.name=" + name;
    options.project = drop_secret_content;
    auto informer = kube::Informer::make(runtime_.home, kube::resources::secrets(), std::move(options));
    informer->on_event([&signal](kube::EventType, const kube::CachedPtr&, const kube::CachedPtr&) { signal.fire(); });
    informer->on_synced(wake);
    informer->start();
    secrets_.push_back(informer);
    return [secret = std::weak_ptr(informer)] {
      const auto watched = secret.lock();
      return watched && watched->synced() && !watched->last_error();
    };
  }

  std::unique_ptr<controller::Manager> health_;
  Runtime runtime_;
  std::vector<std::shared_ptr<kube::Informer>> secrets_;
  std::vector<SecretWatch::Subscription> shared_secrets_;
  std::optional<Supervisor> supervisor_;
  std::optional<controller::Manager> steps_;  // its one controller takes the supervisor's steps
};

/// Until `stop`, giving back from time to time what only the start and bursts needed.
void wait(std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  for (Duration next = kFirstTidying; !stopped.wait_for(lock, stop, next, [&] { return stop.stop_requested(); });
       next = std::min<Duration>(next * 2, kTidying)) {
    controller::give_memory_back();
  }
}

}  // namespace

Result<std::unique_ptr<RunningAgent>> start_agent(const AgentOptions& options, const kube::RestConfig& spoke,
                                                  const AgentParts& parts) {
  FLEETADM_CHECK(validate(options));
  auto agent = std::make_unique<Agent>(options, spoke, parts);
  FLEETADM_CHECK(agent->serve_health());
  FLEETADM_CHECK(agent->start());
  return agent;
}

Status run_agent(const AgentOptions& options, const kube::RestConfig& spoke, const AgentParts& parts, std::stop_token stop) {
  FLEETADM_CHECK(validate(options));
  controller::keep_memory_small();
  Agent agent(options, spoke, parts);
  FLEETADM_CHECK(agent.serve_health());
  const auto serve = [&agent](std::stop_token until) -> Status {
    FLEETADM_CHECK(agent.start());
    wait(until);
    agent.stop();
    return {};
  };
  if (!options.leader_elect) return serve(stop);
  kube::LeaderOptions election;
  election.ns = options.ns;
  election.name = std::string(kComponent) + "-lock";
  election.identity = options.instance;
  return kube::run_as_leader(agent.home(), election, serve, stop);
}

}  // namespace fleetadm::agent
