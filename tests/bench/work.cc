// bench_work: one cluster, 1,000 works of five objects: time until all are Applied and Available, latency from create to applied,
// the agent's memory and CPU, and the time until a deleted object is back. Ours, and with FLEETADM_PEERS upstream's work agent,
// on the same servers in one run, as ratios. FLEETADM_BENCH_WORKS sets another number of works.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>
#include <unistd.h>

#include "core/api/kinds.h"
#include "core/sandbox/node/child.h"
#include "core/work/agent.h"
#include "core/work/conditions.h"
#include "kubeclient/config/kubeconfig.h"
#include "templates/templates.h"
#include "tests/support/kube_servers.h"

namespace {

using namespace fleetadm;
using namespace fleetadm::testkit;
using Timer = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kCluster = "c1";
constexpr int kObjects = 5;
constexpr auto kDone = std::chrono::minutes(15);  // until all works are applied
constexpr auto kLongestRepair = seconds(60);      // a deleted object that is not back by then is called lost

double seconds_since(Timer::time_point begin) { return std::chrono::duration<double>(Timer::now() - begin).count(); }

Result<kube::RestConfig> config_of(const std::string& file) {
  kube::ConfigOverrides which;
  which.kubeconfig = file;
  return kube::load_rest_config(which);
}

// --- our agent: this program again, with nothing but the work engine --------------------------------------------------------

int run_agent(const std::string& hub_file, const std::string& spoke_file) {
  // One thread waits for SIGTERM, all others never see it.
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, nullptr);
  std::stop_source end;
  std::thread([term, end]() mutable {
    int number = 0;
    sigwait(&term, &number);
    end.request_stop();
  }).detach();
  const auto hub = config_of(hub_file);
  const auto spoke = config_of(spoke_file);
  if (!hub || !spoke) return 1;
  work::WorkAgentOptions options;
  options.cluster = kCluster;
  options.hub_server = hub->server;
  controller::Manager manager({});
  work::add_work_controllers(manager, kube::Client::connect(*hub), kube::Client::connect(*spoke), options);
  return manager.run(end.get_token()) ? 0 : 1;
}

// --- what a process costs ------------------------------------------------------------------------------------------------------

double resident_mebibytes(pid_t pid, const char* member) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  std::string line;
  while (std::getline(in, line)) {
    if (line.rfind(member, 0) == 0) return std::strtod(line.c_str() + std::string(member).size() + 1, nullptr) / 1024.0;
  }
  return 0;
}

double cpu_seconds(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos) return 0;
  std::istringstream rest(text.substr(end + 2));
  std::string word;
  double ticks = 0;
  for (int i = 3; rest >> word; ++i) {
    if (i == 14 || i == 15) ticks += std::strtod(word.c_str(), nullptr);
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// --- one run
// ---------------------------------------------------------------------------------------------------------------------

Json work_of(int i) {
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
          {"spec", {{"workload", {{"manifests", manifests}}}}}};
}

struct Numbers {
  double all_applied = 0;  // seconds from the first create
  double all_available = 0;
  double p50 = 0;  // milliseconds from create to Applied, as a watch on the hub sees it
  double p99 = 0;
  double resident = 0;  // MiB, settled
  double peak = 0;
  double cpu = 0;     // seconds for all of it
  double repair = 0;  // milliseconds until a deleted object is back, median; negative: longer than we wait
};

class Run {
 public:
  Run(KubeServer& hub, KubeServer& spoke, kube::Client client, int works)
      : hub_(hub), spoke_(spoke), client_(std::move(client)), works_(works) {}

  Result<Numbers> measure(pid_t agent) {
    created_.assign(static_cast<std::size_t>(works_), {});
    applied_.assign(static_cast<std::size_t>(works_), {});
    std::jthread watcher([this](std::stop_token stop) { watch(std::move(stop)); });
    const auto begin = Timer::now();
    FLEETADM_CHECK(create());
    Numbers numbers;
    if (!eventually([&] { return count_applied_ == works_; }, kDone, milliseconds(20)))
      return fail(Category::kTimeout, std::to_string(count_applied_) + " of " + std::to_string(works_) + " works were applied");
    numbers.all_applied = std::chrono::duration<double>(last_applied_ - begin).count();
    if (!eventually([&] { return count_available_ == works_; }, kDone, milliseconds(20)))
      return fail(Category::kTimeout, "not all works became available");
    numbers.all_available = seconds_since(begin);
    latencies(numbers);
    numbers.cpu = cpu_seconds(agent);
    std::this_thread::sleep_for(seconds(5));
    numbers.resident = resident_mebibytes(agent, "VmRSS:");
    numbers.peak = resident_mebibytes(agent, "VmHWM:");
    numbers.repair = repair();
    watcher.request_stop();
    return numbers;
  }

  /// All works away, and what they put on the cluster.
  Status clean() {
    FLEETADM_CHECK(client_.remove_collection(api::manifest_works(), kCluster, {}));
    const std::string path =
        std::string("/apis/work.open-cluster-management.io/v1/namespaces/") + kCluster + "/manifestworks?limit=1";
    if (hub_.eventually(
            path, [](const Json& list) { return list_at(list, {"items"}).empty(); }, kDone))
      return {};
    return fail(Category::kTimeout, "the works were not removed");
  }

 private:
  Status create() {
    std::atomic<int> next = 0;
    std::atomic<bool> failed = false;
    std::vector<std::jthread> workers;
    for (int i = 0; i < 4; ++i) {
      workers.emplace_back([&] {
        for (int at = next++; at < works_; at = next++) {
          created_[static_cast<std::size_t>(at)] = Timer::now();
          if (!client_.create(api::manifest_works(), kCluster, work_of(at))) failed = true;
        }
      });
    }
    workers.clear();
    if (failed) return fail(Category::kInternal, "a work could not be created");
    return {};
  }

  void watch(std::stop_token stop) {
    std::set<std::string> available;
    (void)kube::watch_collection(
        client_, api::manifest_works(), kCluster, {},
        [&](kube::EventType, const Json& work) {
          const auto at = static_cast<std::size_t>(std::strtol(name_of(work).c_str() + 1, nullptr, 10));
          const Json& conditions = list_at(work, {"status", "conditions"});
          if (at < applied_.size() && applied_[at] == Timer::time_point{} && work::is_true(conditions, "Applied")) {
            applied_[at] = Timer::now();
            last_applied_ = applied_[at];
            ++count_applied_;
          }
          if (work::is_true(conditions, "Applied") && work::is_true(conditions, "Available") &&
              available.insert(name_of(work)).second)
            ++count_available_;
          return true;
        },
        stop);
  }

  void latencies(Numbers& numbers) const {
    std::vector<double> all;
    for (std::size_t i = 0; i < applied_.size(); ++i)
      all.push_back(std::chrono::duration<double, std::milli>(applied_[i] - created_[i]).count());
    std::sort(all.begin(), all.end());
    numbers.p50 = all[all.size() / 2];
    numbers.p99 = all[all.size() * 99 / 100];
  }

  double repair() const {
    std::vector<double> all;
    for (int i = 0; i < 5; ++i) {
      const std::string path = "/api/v1/namespaces/default/configmaps/w" + std::to_string(i * works_ / 5) + "-0";
      const auto begin = Timer::now();
      if (spoke_.request("DELETE", path).status != 200) return -1;
      const bool back = eventually([&] { return spoke_.request("GET", path).status == 200; }, kLongestRepair, milliseconds(2));
      if (!back) return -1;
      all.push_back(seconds_since(begin) * 1000);
    }
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
  }

  KubeServer& hub_;
  KubeServer& spoke_;
  kube::Client client_;
  int works_;
  std::vector<Timer::time_point> created_;
  std::vector<Timer::time_point> applied_;
  Timer::time_point last_applied_;
  std::atomic<int> count_applied_ = 0;
  std::atomic<int> count_available_ = 0;
};

// --- both agents
// -------------------------------------------------------------------------------------------------------------------

Status install(const KubeServer& server, const char* path) {
  constexpr const char* kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  FLEETADM_TRY(const auto objects, templates::render(path, {}));
  for (const Json& object : objects) {
    if (server.create(kDefinitions, object).status >= 300) return fail(Category::kInternal, std::string("cannot create ") + path);
    const bool served = server.eventually(std::string(kDefinitions) + "/" + name_of(object), [](const Json& crd) {
      return work::is_true(list_at(crd, {"status", "conditions"}), "Established");
    });
    if (!served) return fail(Category::kTimeout, std::string(path) + " is not served");
  }
  return {};
}

sandbox::ChildSpec our_agent(const KubeServer& hub, const KubeServer& spoke) {
  sandbox::ChildSpec spec;
  spec.program = std::filesystem::read_symlink("/proc/self/exe").string();
  spec.args = {"--agent", hub.kubeconfig_file(), spoke.kubeconfig_file()};
  spec.environment = {"HOME=" + hub.folder().string(), "PATH=/usr/bin:/bin"};
  spec.output_file = (hub.folder() / "agent.log").string();
  return spec;
}

sandbox::ChildSpec upstream_agent(const std::string& peers, const KubeServer& hub, const KubeServer& spoke) {
  const std::filesystem::path folder = hub.folder() / "upstream-hub-kubeconfig";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "kubeconfig") << hub.kubeconfig();
  std::ofstream(hub.folder() / "upstream.config.yaml")
      << "apiVersion: operator.openshift.io/v1alpha1\nkind: GenericOperatorConfig\nservingInfo: {bindAddress: \"127.0.0.1:"
      << free_port() << "\"}\n";
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
  spec.environment = {"HOME=" + hub.folder().string(), "PATH=/usr/bin:/bin", "POD_NAME=work", "POD_NAMESPACE=default"};
  spec.output_file = (hub.folder() / "upstream.log").string();
  return spec;
}

Result<Numbers> measured(const sandbox::ChildSpec& spec, Run run) {
  FLEETADM_TRY(auto agent, sandbox::Child::start(spec));
  std::this_thread::sleep_for(seconds(3));  // caches filled, as it would be on any day
  Result<Numbers> numbers = run.measure(agent.pid());
  if (numbers) FLEETADM_CHECK(run.clean());
  agent.stop(seconds(10));
  return numbers;
}

void line(const char* what, double ours, const std::optional<double>& theirs, const char* unit) {
  std::printf("  %-34s %10.1f %s", what, ours, unit);
  if (theirs && *theirs >= 0 && ours > 0) std::printf("   upstream %10.1f %s   ratio %.2f", *theirs, unit, ours / *theirs);
  if (theirs && *theirs < 0) std::printf("   upstream: not within %lld s", static_cast<long long>(kLongestRepair.count()));
  std::printf("\n");
}

void print(int works, const Numbers& ours, const std::optional<Numbers>& theirs) {
  std::printf("%d works of %d objects on one cluster\n", works, kObjects);
  const auto of = [&](double Numbers::*member) { return theirs ? std::optional(*theirs.*member) : std::nullopt; };
  line("all applied", ours.all_applied, of(&Numbers::all_applied), "s  ");
  line("all available", ours.all_available, of(&Numbers::all_available), "s  ");
  line("create to applied, p50", ours.p50, of(&Numbers::p50), "ms ");
  line("create to applied, p99", ours.p99, of(&Numbers::p99), "ms ");
  line("agent, resident when settled", ours.resident, of(&Numbers::resident), "MiB");
  line("agent, peak", ours.peak, of(&Numbers::peak), "MiB");
  line("agent, CPU until available", ours.cpu, of(&Numbers::cpu), "s  ");
  line("a deleted object is back", ours.repair, of(&Numbers::repair), "ms ");
}

Status run() {
  const char* asked = std::getenv("FLEETADM_BENCH_WORKS");
  const int works = asked == nullptr ? 1000 : std::max(5, std::atoi(asked));
  KubeServerOptions hub_options;
  hub_options.name = "hub";
  hub_options.controller_manager = false;
  KubeServerOptions spoke_options;
  spoke_options.name = kCluster;
  FLEETADM_TRY(auto servers, KubeServer::start_all({hub_options, spoke_options}));
  KubeServer& hub = *servers[0];
  KubeServer& spoke = *servers[1];
  FLEETADM_CHECK(install(hub, "crds/hub/manifestworks.yaml"));
  FLEETADM_CHECK(install(spoke, "crds/spoke/appliedmanifestworks.yaml"));
  hub.create("/api/v1/namespaces", {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", kCluster}}}});
  FLEETADM_TRY(const kube::RestConfig config, config_of(hub.kubeconfig_file()));
  const kube::Client client = kube::Client::connect(config);
  FLEETADM_TRY(const Numbers ours, measured(our_agent(hub, spoke), {hub, spoke, client, works}));
  std::optional<Numbers> theirs;
  const char* peers = std::getenv("FLEETADM_PEERS");
  if (peers != nullptr && std::filesystem::exists(std::string(peers) + "/work")) {
    FLEETADM_TRY(theirs, measured(upstream_agent(peers, hub, spoke), {hub, spoke, client, works}));
  }
  print(works, ours, theirs);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--agent") return run_agent(argv[2], argv[3]);
  if (const Status done = run(); !done) {
    std::fprintf(stderr, "bench_work: %s\n", done.error().message.c_str());
    return 1;
  }
  return 0;
}
