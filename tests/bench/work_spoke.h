// One cluster and its agent as processes: the burst of works, the agent's cost, single works on top, and repairs.
#pragma once

#include <array>
#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include "core/api/kinds.h"
#include "core/registration/agent/hub_secret.h"
#include "core/registration/agent/identity.h"
#include "core/work/rules/conditions.h"
#include "kubeclient/watch/informer.h"
#include "tests/bench/work_plain.h"
#include "tests/bench/work_process.h"

namespace fleetadm::bench {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testkit::eventually;
using testkit::KubeServer;

inline constexpr const char* kCluster = "c1";
inline constexpr int kObjects = 5;
inline constexpr auto kLongestBurst = std::chrono::minutes(4);

struct SpokePlan {
  int works = 1000;
  int single_works = 40;  // created one after the other when all others have settled
  int repairs = 40;       // objects deleted, and as many changed
  Duration longest_repair = seconds(30);
};

inline Json work_of(int i) {
  Json manifests = Json::array();
  for (int k = 0; k < kObjects; ++k) {
    manifests.push_back({{"apiVersion", "v1"},
                         {"kind", "ConfigMap"},
                         {"metadata", {{"name", "w" + std::to_string(i) + "-" + std::to_string(k)}, {"namespace", "default"}}},
                         {"data", {{"key", std::string(200, 'x')}}}});
  }
  return {{"apiVersion", "work.open-cluster-management.io/v1"},
          {"kind", "ManifestWork"},
          {"metadata", {{"name", "w" + std::to_string(i)}, {"namespace", kCluster}}},
          {"spec", {{"workload", {{"manifests", std::move(manifests)}}}}}};
}

/// Notes when a watch on the hub first shows each work applied and available.
class WorkObserver {
 public:
  WorkObserver(kube::Client hub, int works) : applied_(static_cast<std::size_t>(works)), client_(std::move(hub)) {
    thread_ = std::jthread([this](const std::stop_token& stop) {
      (void)kube::watch_collection(
          client_, api::manifest_works(), kCluster, {},
          [this](kube::EventType, const Json& work) {
            note(work);
            return true;
          },
          stop);
    });
  }

  int applied() const { return count_applied_; }
  int available() const { return count_available_; }
  /// Of a work that counts as applied.
  Timer::time_point applied_at(int work) const { return applied_[static_cast<std::size_t>(work)].load(); }
  Timer::time_point last_applied() const { return last_applied_; }

 private:
  void note(const Json& work) {
    const auto at = static_cast<std::size_t>(std::strtol(name_of(work).c_str() + 1, nullptr, 10));
    const Json& conditions = list_at(work, {"status", "conditions"});
    if (at >= applied_.size() || !work::is_true(conditions, "Applied")) return;
    if (applied_[at].load() == Timer::time_point{}) {
      applied_[at] = Timer::now();
      last_applied_ = applied_[at].load();
      ++count_applied_;
    }
    if (work::is_true(conditions, "Available") && available_.insert(name_of(work)).second) ++count_available_;
  }

  std::vector<std::atomic<Timer::time_point>> applied_;
  std::atomic<Timer::time_point> last_applied_{};
  std::atomic<int> count_applied_ = 0;
  std::atomic<int> count_available_ = 0;
  std::set<std::string> available_;  // of the watching thread
  kube::Client client_;
  std::jthread thread_;
};

class SpokeRun {
 public:
  SpokeRun(kube::Client hub, kube::Client spoke, SpokePlan plan)
      : hub_(std::move(hub)), spoke_(std::move(spoke)), plan_(plan), observer_(hub_, plan.works + plan.single_works) {}

  /// `agent` is running and idle.
  Result<Figures> measure(pid_t agent) {
    Figures figures;
    figures.set("idle_rss_mib", mebibytes(agent, "VmRSS:"));
    figures.set("idle_anonymous_mib", mebibytes(agent, "RssAnon:"));
    const double cpu_before = cpu_seconds(agent);
    FLEETADM_CHECK(burst(figures));
    figures.set("burst_cpu_s", cpu_seconds(agent) - cpu_before);
    std::this_thread::sleep_for(seconds(5));
    const double cpu_settled = cpu_seconds(agent);
    std::this_thread::sleep_for(seconds(10));
    figures.set("settled_cpu_ms_per_s", (cpu_seconds(agent) - cpu_settled) * 100);
    figures.set("settled_rss_mib", mebibytes(agent, "VmRSS:"));
    figures.set("settled_anonymous_mib", mebibytes(agent, "RssAnon:"));
    FLEETADM_CHECK(singles(figures));
    FLEETADM_CHECK(repairs(figures));
    figures.set("last_rss_mib", mebibytes(agent, "VmRSS:"));
    figures.set("peak_rss_mib", mebibytes(agent, "VmHWM:"));
    return figures;
  }

  /// All works away, and with them what they put on the cluster: seconds.
  Result<double> clean() {
    const auto begin = Timer::now();
    // The server ends each of these requests after a minute, whatever is left by then.
    while (true) {
      const auto gone = hub_.with_timeout(kLongestBurst).remove_collection(api::manifest_works(), kCluster, {});
      if (gone) break;
      const bool cut_short = gone.error().code == 504 && Timer::now() - begin < kLongestBurst;
      if (!cut_short) return tl::unexpected(gone.error());
    }
    kube::ListOptions one;
    one.limit = 1;
    const auto is_empty = [&] {
      bool empty = true;
      const Status listed = hub_.list_pages(api::manifest_works(), kCluster, one, [&](const Json& page) -> Status {
        empty = list_at(page, {"items"}).empty();
        return fail(Category::kCancelled, "enough");
      });
      return empty && !listed && listed.error().category == Category::kCancelled;
    };
    if (!eventually(is_empty, kLongestBurst, milliseconds(100)))
      return fail(Category::kTimeout, "the works were not removed in time");
    return seconds_since(begin);
  }

 private:
  Status burst(Figures& figures) {
    std::vector<Timer::time_point> created(static_cast<std::size_t>(plan_.works));
    const auto begin = Timer::now();
    std::atomic<int> next = 0;
    std::atomic<bool> failed = false;
    {
      std::vector<std::jthread> creators;
      for (int i = 0; i < 4; ++i) {
        creators.emplace_back([&] {
          for (int at = next++; at < plan_.works; at = next++) {
            created[static_cast<std::size_t>(at)] = Timer::now();
            if (!hub_.create(api::manifest_works(), kCluster, work_of(at))) failed = true;
          }
        });
      }
    }
    if (failed) return fail(Category::kInternal, "a work could not be created");
    figures.set("created_s", seconds_since(begin));
    if (!eventually([&] { return observer_.applied() == plan_.works; }, kLongestBurst, milliseconds(20))) {
      return fail(Category::kTimeout,
                  std::to_string(observer_.applied()) + " of " + std::to_string(plan_.works) + " works were applied in time");
    }
    figures.set("all_applied_s", std::chrono::duration<double>(observer_.last_applied() - begin).count());
    if (!eventually([&] { return observer_.available() == plan_.works; }, kLongestBurst, milliseconds(20)))
      return fail(Category::kTimeout, "not all works became available in time");
    figures.set("all_available_s", seconds_since(begin));
    std::vector<double> latencies;
    for (int i = 0; i < plan_.works; ++i) {
      latencies.push_back(
          std::chrono::duration<double, std::milli>(observer_.applied_at(i) - created[static_cast<std::size_t>(i)]).count());
    }
    figures.set_sample("burst_applied", latencies);
    return {};
  }

  Status singles(Figures& figures) {
    std::vector<double> latencies;
    for (int i = plan_.works; i < plan_.works + plan_.single_works; ++i) {
      const auto begin = Timer::now();
      FLEETADM_TRY([[maybe_unused]] const Json made, hub_.create(api::manifest_works(), kCluster, work_of(i)));
      if (!eventually([&] { return observer_.applied_at(i) != Timer::time_point{}; }, seconds(60), milliseconds(1)))
        return fail(Category::kTimeout, "a single work was not applied within a minute");
      latencies.push_back(std::chrono::duration<double, std::milli>(observer_.applied_at(i) - begin).count());
      std::this_thread::sleep_for(milliseconds(50));
    }
    figures.set_sample("single_applied", latencies);
    return {};
  }

  /// Deletes one object and changes another, each of a work of its own, and waits for both to be as the work says.
  Status repairs(Figures& figures) {
    std::vector<double> deleted;
    std::vector<double> changed;
    int lost = 0;
    for (int i = 0; i < plan_.repairs; ++i) {
      const std::string base = "w" + std::to_string(i * plan_.works / plan_.repairs);
      const std::string gone = base + "-0";
      const std::string other = "w" + std::to_string(i * plan_.works / plan_.repairs + 1) + "-1";
      const auto& maps = kube::resources::config_maps();
      FLEETADM_TRY(const Json before, spoke_.get(maps, "default", gone));
      const auto from_delete = Timer::now();
      FLEETADM_TRY([[maybe_unused]] const Json answer, spoke_.remove(maps, "default", gone));
      const auto from_change = Timer::now();
      FLEETADM_TRY([[maybe_unused]] const Json drifted,
                   spoke_.patch(maps, "default", other, kube::PatchType::kMerge, Json{{"data", {{"key", "drift"}}}}));
      std::optional<double> back;
      std::optional<double> restored;
      (void)eventually(
          [&] {
            if (!back) {
              const auto now = spoke_.find(maps, "default", gone);
              if (now && *now && uid_of(**now) != uid_of(before)) back = milliseconds_since(from_delete);
            }
            if (!restored) {
              const auto now = spoke_.find(maps, "default", other);
              if (now && *now && str(**now, {"data", "key"}) != "drift") restored = milliseconds_since(from_change);
            }
            return back && restored;
          },
          plan_.longest_repair, milliseconds(1));
      if (back) deleted.push_back(*back);
      if (restored) changed.push_back(*restored);
      lost += (back ? 0 : 1) + (restored ? 0 : 1);
    }
    figures.set_sample("deleted_back", deleted);
    figures.set_sample("changed_back", changed);
    figures.set("repairs_lost", lost);
    return {};
  }

  kube::Client hub_;
  kube::Client spoke_;
  SpokePlan plan_;
  WorkObserver observer_;
};

// --- the two agents -------------------------------------------------------------------------------------------------------

/// Gives the spoke what an agent has after it joined: the secret with its hub credential. The credential is an administrator's
/// too, so that no rights have to be granted.
inline Status store_hub_credential(const KubeServer& hub, const KubeServer& spoke, const kube::Client& spoke_client) {
  namespace reg = registration::agent;
  const reg::Identity identity{kCluster, "bench"};
  const std::string text = hub.kubeconfig_for(reg::common_name(identity), {"system:masters"});
  FLEETADM_TRY(const reg::Endpoint endpoint, reg::endpoint_of(text));
  FLEETADM_TRY(const auto kubeconfig, kube::Kubeconfig::from_text(text));
  FLEETADM_TRY(const kube::RestConfig config, kubeconfig.resolve({}));
  FLEETADM_TRY(const kube::Credentials credentials, config.credentials->current());
  FLEETADM_CHECK(create_namespace(spoke, std::string(api::kAgentNamespace)));
  const reg::HubSecretStore store(spoke_client, std::string(api::kAgentNamespace), std::string(api::kHubKubeconfigSecret));
  FLEETADM_TRY([[maybe_unused]] const auto stored, store.edit([&](reg::HubSecret& secret) -> Status {
    secret.data[reg::kKubeconfigKey] = reg::hub_kubeconfig(endpoint);
    secret.data[reg::kClusterNameKey] = identity.cluster;
    secret.data[reg::kAgentNameKey] = identity.agent;
    secret.data[reg::kCertificateKey] = credentials.client_certificate;
    secret.data[reg::kPrivateKeyKey] = credentials.client_key;
    return {};
  }));
  return {};
}

/// Ours does registration too: heartbeat, status and certificate.
inline sandbox::ChildSpec our_agent(const KubeServer& hub, const KubeServer& spoke) {
  sandbox::ChildSpec spec;
  spec.program = testkit::Fleet::binary();
  spec.args = {"agent", "run", "--kubeconfig", spoke.kubeconfig_file(), "--cluster-name", kCluster, "--agent-id", "bench"};
  spec.environment = {"HOME=" + hub.folder().string(), "PATH=/usr/bin:/bin"};
  spec.output_file = (hub.folder() / "agent.log").string();
  return spec;
}

/// Upstream's work agent alone, with the request limits of upstream's own benchmarks (its defaults, 50 requests a second, would
/// be measured and nothing else).
inline sandbox::ChildSpec upstream_agent(const std::string& peers, const KubeServer& hub, const KubeServer& spoke) {
  const std::filesystem::path folder = hub.folder() / "upstream-hub-kubeconfig";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "kubeconfig") << hub.kubeconfig();
  std::ofstream(hub.folder() / "upstream.config.yaml")
      << "apiVersion: operator.openshift.io/v1alpha1\nkind: GenericOperatorConfig\nservingInfo: {bindAddress: \"127.0.0.1:"
      << testkit::free_port() << "\"}\n";
  sandbox::ChildSpec spec;
  spec.program = peers + "/work";
  spec.args = {"agent",
               std::string("--spoke-cluster-name=") + kCluster,
               "--hub-kubeconfig-dir=" + folder.string(),
               "--workload-source-driver=kube",
               "--workload-source-config=" + (folder / "kubeconfig").string(),
               "--kubeconfig=" + spoke.kubeconfig_file(),
               "--status-sync-interval=10s",
               "--config=" + (hub.folder() / "upstream.config.yaml").string(),
               "--namespace=default",
               "--disable-leader-election"};
  for (const char* side : {"--hub-kube-api", "--kube-api"}) {
    spec.args.push_back(std::string(side) + "-qps=1000");
    spec.args.push_back(std::string(side) + "-burst=2000");
  }
  spec.environment = {"HOME=" + hub.folder().string(), "PATH=/usr/bin:/bin", "POD_NAME=work", "POD_NAMESPACE=default"};
  spec.output_file = (hub.folder() / "upstream.log").string();
  return spec;
}

/// Works a second from plain clients, beside the watches of an agent and of the observer.
struct PlainRates {
  double applied = 0;
  double removed = 0;
};

inline Result<PlainRates> plain_rates(const kube::Client& hub, const kube::Client& spoke) {
  constexpr int kProbe = 500;
  const PlainClients clients(hub, spoke, kCluster);
  const WorkObserver observer(hub, kProbe);
  const std::array watches{kube::Informer::make(hub, api::manifest_works(), {.ns = kCluster}),
                           kube::Informer::make(spoke, api::applied_manifest_works()),
                           kube::Informer::make(spoke, kube::resources::config_maps())};
  for (const auto& watch : watches) watch->start();
  for (const auto& watch : watches) {
    if (!watch->wait_synced(seconds(20))) return fail(Category::kTimeout, "a watch did not begin in time");
  }
  FLEETADM_TRY(const double applied, clients.apply(kProbe, work_of));
  FLEETADM_TRY(const double removed, clients.remove(kProbe, work_of));
  for (const auto& watch : watches) watch->stop();
  return PlainRates{kProbe / applied, kProbe / removed};
}

struct SpokeFigures {
  Figures ours;
  std::optional<Figures> theirs;
};

inline Result<Figures> with_agent(const std::string& who, const sandbox::ChildSpec& spec, const kube::Client& hub,
                                  const kube::Client& spoke, const SpokePlan& plan, bool clean) {
  FLEETADM_TRY(auto agent, sandbox::Child::start(spec));
  std::this_thread::sleep_for(seconds(10));  // caches filled, as on any day
  const auto explained = [&](Error error) {
    error.message += "; the agent's log ends: " + testkit::read_file(spec.output_file).substr(0, 2000);
    return error;
  };
  if (!agent.running()) return tl::unexpected(explained(fail(Category::kInternal, "the agent ended").value()));
  SpokeRun run(hub, spoke, plan);
  Result<Figures> figures = run.measure(agent.pid());
  if (!figures) return tl::unexpected(explained(figures.error()));
  if (clean) {
    const Result<double> took = run.clean();
    if (!took) figures->tell("work-spoke", who);  // what was measured is not lost
    if (!took) return tl::unexpected(explained(took.error()));
    figures->set("removed_s", *took);
  }
  figures->tell("work-spoke", who);
  agent.stop(seconds(10));
  return figures;
}

/// `peers`: the folder with upstream's programs; empty: ours alone.
inline Result<SpokeFigures> run_spoke(const SpokePlan& plan, const std::string& peers) {
  testkit::KubeServerOptions hub_options;
  hub_options.name = "hub";
  hub_options.controller_manager = false;
  testkit::KubeServerOptions spoke_options;
  spoke_options.name = kCluster;
  FLEETADM_TRY(auto servers, KubeServer::start_all({hub_options, spoke_options}));
  KubeServer& hub = *servers[0];
  KubeServer& spoke = *servers[1];
  FLEETADM_TRY(const kube::Client hub_client, client_of(hub));
  FLEETADM_TRY(const kube::Client spoke_client, client_of(spoke));
  FLEETADM_CHECK(install_types(hub_client, "crds/hub/", install::kHubPart));
  FLEETADM_CHECK(install_types(spoke_client, "crds/spoke/", install::kAgentPart));
  FLEETADM_CHECK(create_namespace(hub, kCluster));
  const Json cluster{{"apiVersion", "cluster.open-cluster-management.io/v1"},
                     {"kind", "ManagedCluster"},
                     {"metadata", {{"name", kCluster}}},
                     {"spec", {{"hubAcceptsClient", true}}}};
  FLEETADM_TRY([[maybe_unused]] const Json made, hub_client.create(api::managed_clusters(), {}, cluster));
  const Json accepted{{"status",
                       {{"conditions", Json::array({{{"type", "HubAcceptedManagedCluster"},
                                                     {"status", "True"},
                                                     {"reason", "Bench"},
                                                     {"message", ""},
                                                     {"lastTransitionTime", "2026-01-01T00:00:00Z"}}})}}}};
  kube::WriteOptions status;
  status.subresource = "status";
  FLEETADM_TRY([[maybe_unused]] const Json marked,
               hub_client.patch(api::managed_clusters(), {}, kCluster, kube::PatchType::kMerge, accepted, status));
  FLEETADM_CHECK(store_hub_credential(hub, spoke, spoke_client));

  SpokeFigures figures;
  FLEETADM_TRY(const PlainRates plain, plain_rates(hub_client, spoke_client));
  const auto compare = [&](Figures& with) {
    const double works = plan.works;
    if (const auto took = with.get("all_applied_s")) with.set("applied_of_plain_percent", 100 * works / *took / plain.applied);
    if (const auto took = with.get("removed_s")) with.set("removed_of_plain_percent", 100 * works / *took / plain.removed);
  };
  FLEETADM_TRY(figures.ours, with_agent("fleetadm", our_agent(hub, spoke), hub_client, spoke_client, plan, true));
  figures.ours.set("plain_applied_per_s", plain.applied);
  figures.ours.set("plain_removed_per_s", plain.removed);
  compare(figures.ours);
  if (peers.empty()) return figures;
  SpokePlan theirs = plan;
  theirs.single_works = std::min(plan.single_works, 10);
  theirs.repairs = 1;  // each may take as long as we wait
  FLEETADM_TRY(figures.theirs, with_agent("upstream", upstream_agent(peers, hub, spoke), hub_client, spoke_client, theirs, true));
  compare(*figures.theirs);
  return figures;
}

}  // namespace fleetadm::bench
