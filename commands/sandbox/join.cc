#include "commands/sandbox/join.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "commands/framework/command.h"
#include "commands/framework/grammar.h"
#include "commands/sandbox/access.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "core/install/install.h"
#include "core/registration/join/agent_manifests.h"
#include "core/registration/join/hub_secrets.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::commands {
namespace {

constexpr std::size_t kClustersAtOnce = 64;  // clusters that join or are accepted side by side

/// Of one of many commands that run side by side: their steps would be a jumble. Warnings are told with the cluster's name.
class WarningsOnly final : public Progress {
 public:
  WarningsOnly(Progress& outer, std::mutex& telling, std::string cluster)
      : outer_(outer), telling_(telling), cluster_(std::move(cluster)) {}
  void begin(std::string_view /*step*/) override {}
  void note(std::string_view /*detail*/) override {}
  void done(std::string_view /*outcome*/) override {}
  void failed(std::string_view /*why*/) override {}
  void warn(std::string_view text) override {
    const std::lock_guard lock(telling_);
    outer_.warn(cluster_ + ": " + std::string(text));
  }
  void say(std::string_view text) override {
    const std::lock_guard lock(telling_);
    outer_.say(text);
  }

 private:
  Progress& outer_;
  std::mutex& telling_;
  std::string cluster_;
};

/// The context of a command that runs inside another, on one cluster of the sandbox.
class ClusterContext final : public Context {
 public:
  /// `kubeconfig` is the sandbox's, read once: that of a thousand clusters is long. `progress`: null for the outer one. `client`:
  /// of this cluster, where there is one already: commands on the same cluster share its connection.
  ClusterContext(Context& outer, const kube::Kubeconfig& kubeconfig, std::string file, std::string name,
                 Progress* progress = nullptr, std::optional<kube::Client> client = std::nullopt)
      : outer_(outer), kubeconfig_(kubeconfig), progress_(progress), client_(std::move(client)), globals_(outer.global()) {
    globals_.config = {};
    globals_.config.kubeconfig = std::move(file);
    globals_.config.context = std::move(name);
  }
  const GlobalOptions& global() const override { return globals_; }
  Result<kube::RestConfig> rest_config() override { return kubeconfig_.resolve(globals_.config); }
  Result<kube::RestConfig> rest_config(const kube::ConfigOverrides& overrides) override { return outer_.rest_config(overrides); }
  Result<kube::Client> client() override {
    if (client_) return *client_;
    FLEETADM_TRY(const auto config, rest_config());
    return outer_.client(config);
  }
  kube::Client client(const kube::RestConfig& config) override { return outer_.client(config); }
  Result<std::string> ns() override { return std::string("default"); }
  Clock& clock() override { return outer_.clock(); }
  Progress& progress() override { return progress_ != nullptr ? *progress_ : outer_.progress(); }
  Terminal& terminal() override { return outer_.terminal(); }
  std::stop_token stop() override { return outer_.stop(); }
  std::string env(std::string_view name) const override { return outer_.env(name); }
  std::string executable() const override { return outer_.executable(); }
  void emit(const Report& report) override { outer_.emit(report); }

 private:
  Context& outer_;
  const kube::Kubeconfig& kubeconfig_;
  Progress* progress_;
  std::optional<kube::Client> client_;
  GlobalOptions globals_;
};

using Words = std::vector<std::pair<std::string, std::string>>;

/// Runs a registered command with flags as they would be typed. Secrets among them stay in this process.
Result<Report> run_command(Context& context, const Registry& registry, const std::string& path, const Words& flags,
                           const std::vector<std::string>& args = {}) {
  const Command* command = registry.find(path);
  if (command == nullptr) return fail(Category::kInternal, "there is no command " + path);
  auto call = command->make();
  for (const auto& [name, value] : flags) {
    const Flag* flag = call.flags.find(name);
    if (flag == nullptr) return fail(Category::kInternal, path + " has no flag --" + name);
    FLEETADM_CHECK(flag->set(value));
  }
  FLEETADM_TRY(auto report, call.run(context, args));
  if (!report.failures.empty()) return fail(report.failures.front());
  return report;
}

using Each = std::function<Status(const std::string& cluster, Progress& progress)>;

/// Calls `each` for all clusters, some at a time, and tells how many are done ("joined 340 of 1000"). After a failure none is
/// begun.
Status side_by_side(Context& context, const std::vector<std::string>& clusters, const std::string& step, const std::string& done,
                    const Each& each) {
  Progress& progress = context.progress();
  static_cast<void>(context.clock());  // made here: the threads share it
  std::mutex telling;
  std::atomic<std::size_t> next{0};
  std::size_t finished = 0;  // with the lock
  std::optional<Error> failed;
  const std::string of_all = " of " + std::to_string(clusters.size());
  progress.begin(step);
  const auto work = [&] {
    for (auto i = next++; i < clusters.size() && !context.stop().stop_requested(); i = next++) {
      WarningsOnly warnings(progress, telling, clusters[i]);
      const Status made = each(clusters[i], warnings);
      const std::lock_guard lock(telling);
      if (made) {
        progress.note(done + " " + std::to_string(++finished) + of_all);
        continue;
      }
      if (!failed) failed = made.error();
      next = clusters.size();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < std::min(kClustersAtOnce, clusters.size()); ++i) threads.emplace_back(work);
  }
  if (!failed && finished < clusters.size()) failed = fail(Category::kCancelled, "interrupted").value();
  if (failed) {
    progress.failed(failed->message);
    return fail(std::move(*failed));
  }
  progress.done(done + " " + std::to_string(finished) + of_all);
  return {};
}

/// As `join` does it on each cluster, with one look at the hub for all of them. `user` may then do everything there.
Status join_clusters(Context& context, const kube::Kubeconfig& kubeconfig, const SandboxFleet& fleet, const Json& ticket,
                     const std::string& user) {
  join::HubEndpoint endpoint;
  endpoint.server = str(ticket, {"hub-apiserver"});
  endpoint.token = str(ticket, {"hub-token"});
  endpoint.ca_pin = str(ticket, {"ca-cert-hash"});
  const join::Preflight hub = join::check_hub(endpoint, context.clock(), context.stop());
  if (hub.error) return fail(*hub.error);
  const Each install_agent = [&](const std::string& name, Progress& progress) -> Status {
    ClusterContext cluster(context, kubeconfig, fleet.kubeconfig, fleet.sandbox + "-" + name, &progress);
    FLEETADM_TRY(const auto spoke, cluster.client());
    if (!fleet.fresh) FLEETADM_CHECK(join::check_not_elsewhere(spoke, name, endpoint.server));
    FLEETADM_TRY(auto objects, join::agent_manifests({.cluster_name = name}, {join::bootstrap_kubeconfig(endpoint, hub.hub)}));
    install::Options how;
    how.part = install::kAgentPart;
    how.fresh = fleet.fresh;
    how.stop = context.stop();
    FLEETADM_CHECK(install::apply_all(spoke, std::move(objects), how));
    return user.empty() ? Status() : allow_everything(spoke, user);
  };
  return side_by_side(context, fleet.clusters, "Joining the clusters", "joined",
                      [&](const std::string& name, Progress& progress) {
                        Status joined = install_agent(name, progress);
                        return joined ? joined : fail(joined.error().wrap("cluster " + name + " cannot join"));
                      });
}

/// Tells which clusters have asked to join: one watch of the hub's certificate requests for all of them.
class AskedToJoin {
 public:
  explicit AskedToJoin(const kube::Client& hub) {
    kube::InformerOptions options;
    options.label_selector = api::kClusterNameLabel;
    options.project = [](Json& request) { request = {{"metadata", object_at(request, {"metadata"})}}; };
    requests_ = kube::Informer::make(hub, kube::resources::certificate_signing_requests(), std::move(options));
    requests_->on_event([this](kube::EventType, const kube::CachedPtr&, const kube::CachedPtr& after) {
      if (!after) return;
      const std::lock_guard lock(mutex_);
      if (asked_.insert(label_of(after->decode(), api::kClusterNameLabel)).second) changed_.notify_all();
    });
    requests_->start();
  }
  ~AskedToJoin() { requests_->stop(); }
  AskedToJoin(const AskedToJoin&) = delete;
  AskedToJoin& operator=(const AskedToJoin&) = delete;

  /// Until the cluster has asked, or kWaitTimeout is over.
  void wait(const std::string& cluster, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, kWaitTimeout, [&] { return asked_.contains(cluster); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::set<std::string> asked_;
  std::shared_ptr<kube::Informer> requests_;
};

/// One watch for all of them: an agent needs some seconds to notice that it was accepted.
Status wait_until_available(Context& context, const kube::Client& hub, const std::string& sandbox,
                            const std::vector<std::string>& clusters) {
  Progress& progress = context.progress();
  progress.begin("Waiting until the clusters are available");
  std::mutex mutex;
  std::condition_variable_any changed;
  std::set<std::string> waiting(clusters.begin(), clusters.end());
  const auto informer = kube::Informer::make(hub, api::managed_clusters());
  informer->on_event([&](kube::EventType, const kube::CachedPtr&, const kube::CachedPtr& after) {
    if (!after || !controller::condition_is(after->decode(), api::kConditionAvailable, "True")) return;
    const std::lock_guard lock(mutex);
    if (waiting.erase(after->key()) > 0) changed.notify_all();
  });
  informer->start();
  const std::string of_all = " of " + std::to_string(clusters.size());
  const auto count = [&] { return "available " + std::to_string(clusters.size() - waiting.size()) + of_all; };
  std::unique_lock lock(mutex);
  const auto deadline = std::chrono::steady_clock::now() + kWaitTimeout;
  for (auto left = waiting.size(); left > 0; left = waiting.size()) {
    progress.note(count());
    if (!changed.wait_until(lock, context.stop(), deadline, [&] { return waiting.size() < left; })) break;
  }
  const std::string outcome = count();
  const std::string missing = waiting.empty() ? std::string() : *waiting.begin();
  lock.unlock();
  informer->stop();
  if (missing.empty()) {
    progress.done(outcome);
    return {};
  }
  progress.failed(outcome);
  if (context.stop().stop_requested()) return fail(Category::kCancelled, "interrupted");
  return fail(Category::kTimeout, outcome + "; " + missing + " is not",
              "see its agent's log: kubectl --context " + sandbox + "-" + missing + " -n " + std::string(api::kAgentNamespace) +
                  " logs deploy/fleetadm-agent");
}

}  // namespace

Status join_sandbox(Context& context, const SandboxFleet& fleet) {
  Registry registry;
  register_all(registry);
  kube::ConfigOverrides file;
  file.kubeconfig = fleet.kubeconfig;
  file.interactive = false;
  FLEETADM_TRY(const auto kubeconfig, kube::Kubeconfig::load(file));
  const auto hub_name = fleet.sandbox + "-hub";
  ClusterContext hub(context, kubeconfig, fleet.kubeconfig, hub_name);
  Words flags{{"wait", "true"}, {"show-token", "true"}};
  if (fleet.gateway) flags.emplace_back("gateway", "true");
  FLEETADM_TRY(const auto ticket, run_command(hub, registry, "init", flags));
  if (fleet.clusters.empty()) return {};
  FLEETADM_TRY(const auto hub_client, hub.client());
  std::string user;
  if (fleet.gateway) {
    FLEETADM_TRY(user, allow_clusters(hub_client));
  }
  FLEETADM_CHECK(join_clusters(context, kubeconfig, fleet, ticket.data, user));
  std::optional<AskedToJoin> asked;
  if (fleet.fresh) asked.emplace(hub_client);  // what was accepted before need not ask again
  Words accepting{{"yes", "true"}};
  if (!fleet.fresh) accepting.emplace_back("wait", "accepted");
  FLEETADM_CHECK(side_by_side(context, fleet.clusters, "Accepting the clusters", "accepted",
                              [&](const std::string& name, Progress& progress) -> Status {
                                ClusterContext one(context, kubeconfig, fleet.kubeconfig, hub_name, &progress, hub_client);
                                if (asked) asked->wait(name, context.stop());
                                return run_command(one, registry, "accept", accepting, {name}).map([](const Report&) {});
                              }));
  return wait_until_available(context, hub_client, fleet.sandbox, fleet.clusters);
}

}  // namespace fleetadm::commands
