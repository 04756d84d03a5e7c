// What a sandbox costs: time until its clusters are ready and memory of each; the same with all of them joined; writes, reads and
// the way of a change to its watchers beside kube-apiserver and etcd on the same machine in the same run; and a hundred kills
// under load.
//   bench_sandbox [scale] [fleet] [load] [crash]   (none: all). FLEETADM_BENCH_CLUSTERS=3,100,1000,
//   FLEETADM_BENCH_JOINED=100,1000, FLEETADM_BENCH_AGENTS=processes,in-process, FLEETADM_BENCH_ROUNDS=100.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "core/sandbox/fleet/home.h"
#include "core/sandbox/node/child.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/rest/client.h"
#include "kubeclient/watch/blocking_watch.h"
#include "tests/support/kube_servers.h"
#include "tests/support/sandbox_crash.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::bench {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;
using testkit::TemporaryFolder;
constexpr int kClients = 8;
constexpr int kWrites = 4000;
constexpr int kReads = 8000;
constexpr int kWatchers = 100;
constexpr int kChanges = 100;
constexpr int kMostProcesses = 300;  // of agents: a thousand need more memory than most machines have
constexpr const char* kName = "bench";

double seconds_since(Steady::time_point begin) { return std::chrono::duration<double>(Steady::now() - begin).count(); }

std::string setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

/// `fleetadm sandbox …` of the benchmark's own home.
class Sandboxes {
 public:
  explicit Sandboxes(std::string binary) : binary_(std::move(binary)), home_(folder_.path()) {}
  ~Sandboxes() { static_cast<void>(home_.stop(kName, 20s)); }
  Sandboxes(const Sandboxes&) = delete;
  Sandboxes& operator=(const Sandboxes&) = delete;

  Status run(std::vector<std::string> args) {
    args.insert(args.begin(), "sandbox");
    return command(std::move(args));
  }
  /// Any command, with the sandbox's hub as its cluster.
  Status command(std::vector<std::string> args) {
    sandbox::ChildSpec spec;
    spec.program = binary_;
    spec.args = std::move(args);
    spec.environment = {"FLEETADM_SANDBOX_DIR=" + folder_.path().string(), "KUBECONFIG=" + home_.kubeconfig(kName).string(),
                        "PATH=/usr/bin:/bin"};
    spec.output_file = (folder_.path() / "output").string();
    FLEETADM_TRY(auto child, sandbox::Child::start(spec));
    const auto ended = child.wait(15min);
    if (!ended || ended->code != 0) return fail(Category::kInternal, "fleetadm " + spec.args[0] + " " + spec.args[1] + " failed");
    return {};
  }
  Result<std::string> file(const std::string& name, const std::string& text) {
    const auto path = folder_.path() / name;
    std::ofstream(path) << text;
    return path.string();
  }
  const sandbox::SandboxHome& home() const { return home_; }

 private:
  std::string binary_;
  TemporaryFolder folder_{"bench"};
  sandbox::SandboxHome home_;
};

/// MiB that the process holds.
double resident(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

Status scale(const std::string& binary) {
  std::printf("\nFrom nothing until every cluster is ready\n");
  std::istringstream sizes(setting("FLEETADM_BENCH_CLUSTERS", "3,100,1000"));
  for (std::string size; std::getline(sizes, size, ',');) {
    for (const bool ephemeral : {false, true}) {
      Sandboxes sandboxes(binary);
      std::vector<std::string> up = {"up", "--name", kName, "--clusters", size, "--nodes=false"};
      if (ephemeral) up.emplace_back("--ephemeral");
      const auto begin = Steady::now();
      FLEETADM_CHECK(sandboxes.run(up));
      const auto took = seconds_since(begin);
      const auto process = sandboxes.home().running(kName);
      if (!process) return fail(Category::kInternal, "no sandbox is running");
      const auto memory = resident(process->pid);
      const auto each = memory * 1024 / (std::stod(size) + 1);
      std::printf("  %5s spokes%-12s %8.2f s %9.1f MiB %8.0f KiB a cluster\n", size.c_str(), ephemeral ? " (in memory)" : "",
                  took, memory, each);
      std::printf("{\"bench\": \"sandbox-scale\", \"clusters\": %s, \"ephemeral\": %s, \"seconds\": %.3f, \"mib\": %.1f}\n",
                  size.c_str(), ephemeral ? "true" : "false", took, memory);
      FLEETADM_CHECK(sandboxes.run({"down", "--name", kName}));
    }
  }
  return {};
}

/// A line of /proc/<pid>/status.
std::string status_of(const std::string& pid, const std::string& line) {
  std::ifstream in("/proc/" + pid + "/status");
  for (std::string text; std::getline(in, text);) {
    if (text.starts_with(line + ":")) return text.substr(line.size() + 1);
  }
  return {};
}

/// Of the sandbox's process and of the agents' that it started.
struct FleetCost {
  int processes = 0;
  int threads = 0;
  double mib = 0;
};

FleetCost cost_of(int pid) {
  FleetCost cost;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string parent = status_of(name, "PPid");
    if (std::stoi(name) != pid && (parent.empty() || std::stoi(parent) != pid)) continue;
    const std::string threads = status_of(name, "Threads");
    if (threads.empty()) continue;  // it has ended
    ++cost.processes;
    cost.threads += std::stoi(threads);
    cost.mib += resident(std::stoi(name));
  }
  return cost;
}

/// Seconds of a rollout to all clusters, a tenth of them at a time, until each has told that its object is ready.
Result<double> roll_out(Sandboxes& sandboxes) {
  FLEETADM_TRY(const auto manifest, sandboxes.file("map.yaml",
                                                   "apiVersion: v1\nkind: ConfigMap\n"
                                                   "metadata: {name: rolled-out, namespace: default}\n"));
  FLEETADM_CHECK(sandboxes.command({"clusterset", "bind", "global", "-n", "default"}));
  FLEETADM_CHECK(sandboxes.command({"placement", "create", "all", "-n", "default", "--wait"}));
  const auto begin = Steady::now();
  FLEETADM_CHECK(sandboxes.command({"work", "create", "web", "-f", manifest, "--placement", "default/all", "--strategy",
                                    "progressive", "--max-concurrency", "10%", "--wait=ready", "--timeout", "15m"}));
  return seconds_since(begin);
}

Status fleet_of(const std::string& binary, const std::string& size, const std::string& agents) {
  Sandboxes sandboxes(binary);
  const auto begin = Steady::now();
  FLEETADM_CHECK(sandboxes.run({"up", "--name", kName, "--clusters", size, "--join", "--ephemeral", "--agents=" + agents}));
  const auto took = seconds_since(begin);
  const auto process = sandboxes.home().running(kName);
  if (!process) return fail(Category::kInternal, "no sandbox is running");
  const FleetCost cost = cost_of(process->pid);
  FLEETADM_TRY(const double rolled_out, roll_out(sandboxes));
  const FleetCost after = cost_of(process->pid);
  const auto removal = Steady::now();
  FLEETADM_CHECK(sandboxes.run({"down", "--name", kName}));
  const auto removed = seconds_since(removal);
  std::printf(
      "  %5s clusters, agents %-10s %8.2f s %9.1f MiB %6d threads of %d processes; rollout %.2f s, then %.1f MiB and %d "
      "threads; removed in %.2f s\n",
      size.c_str(), agents.c_str(), took, cost.mib, cost.threads, cost.processes, rolled_out, after.mib, after.threads, removed);
  std::printf(
      "{\"bench\": \"sandbox-fleet\", \"clusters\": %s, \"agents\": \"%s\", \"seconds\": %.3f, \"mib\": %.1f, "
      "\"threads\": %d, \"processes\": %d, \"rollout_seconds\": %.3f, \"mib_after\": %.1f, \"removed_seconds\": %.3f}\n",
      size.c_str(), agents.c_str(), took, cost.mib, cost.threads, cost.processes, rolled_out, after.mib, removed);
  return {};
}

Status fleet(const std::string& binary) {
  std::printf("\nFrom nothing until every cluster is joined, accepted and available; then a rollout to all of them\n");
  std::istringstream sizes(setting("FLEETADM_BENCH_JOINED", "100,1000"));
  for (std::string size; std::getline(sizes, size, ',');) {
    std::istringstream kinds(setting("FLEETADM_BENCH_AGENTS", "processes,in-process"));
    for (std::string agents; std::getline(kinds, agents, ',');) {
      if (agents == "processes" && std::stoi(size) > kMostProcesses) continue;
      FLEETADM_CHECK(fleet_of(binary, size, agents));
    }
  }
  return {};
}

struct Load {
  double writes = 0;      // a second
  double reads = 0;       // a second
  double fan_out_50 = 0;  // ms from a write's beginning until a watcher has it
  double fan_out_99 = 0;
};

Json map_of(const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}, {"namespace", "default"}}},
          {"data", {{"value", std::string(1000, 'x')}}}};
}

/// Calls a second of `count` calls by a few clients, each with connections of its own.
Result<double> rate(const kube::RestConfig& config, int count, const std::function<Status(const kube::Client&, int)>& call) {
  std::atomic<int> next{0};
  std::mutex mutex;
  Status outcome;
  const auto begin = Steady::now();
  std::vector<std::jthread> threads;
  for (int t = 0; t < kClients; ++t) {
    threads.emplace_back([&] {
      const auto client = kube::Client::connect(config);
      for (int i = next++; i < count; i = next++) {
        if (auto done = call(client, i); !done) {
          const std::lock_guard lock(mutex);
          outcome = std::move(done);
          next = count;
        }
      }
    });
  }
  threads.clear();
  FLEETADM_CHECK(outcome);
  return count / seconds_since(begin);
}

Result<std::vector<double>> fan_out(const kube::RestConfig& config) {
  const auto client = kube::Client::connect(config);
  const auto& maps = kube::resources::config_maps();
  FLEETADM_TRY(Json made, client.create(maps, "default", map_of("watched")));
  std::mutex mutex;
  std::map<std::string, Steady::time_point> began;
  std::vector<double> all;
  std::atomic<int> seen{0};
  std::vector<std::jthread> watchers;
  for (int i = 0; i < kWatchers; ++i) {
    watchers.emplace_back([&](const std::stop_token& stop) {
      kube::BlockingWatch watch(client, maps, "default", {.field_selector = "metadata.name=watched"}, resource_version_of(made),
                                10min);
      while (!stop.stop_requested()) {
        const auto next = watch.next(200ms, stop);
        const auto* event = std::get_if<kube::BlockingWatch::Event>(&next);
        if (event == nullptr) continue;
        const auto now = Steady::now();
        const std::lock_guard lock(mutex);
        const auto at = began.find(str(event->object, {"data", "round"}));
        if (at == began.end()) continue;
        all.push_back(std::chrono::duration<double, std::milli>(now - at->second).count());
        ++seen;
      }
    });
  }
  std::this_thread::sleep_for(1s);
  for (int i = 0; i < kChanges; ++i) {
    const auto round = std::to_string(i);
    {
      const std::lock_guard lock(mutex);
      began[round] = Steady::now();
    }
    FLEETADM_TRY(const Json changed,
                 client.patch(maps, "default", "watched", kube::PatchType::kMerge, {{"data", {{"round", round}}}}));
    const auto until = Steady::now() + 10s;
    while (seen < (i + 1) * kWatchers && Steady::now() < until) std::this_thread::sleep_for(1ms);
    if (seen < (i + 1) * kWatchers) return fail(Category::kTimeout, "a watcher did not see a change");
  }
  for (auto& watcher : watchers) watcher.request_stop();
  watchers.clear();
  std::sort(all.begin(), all.end());
  return all;
}

Result<Load> measure(const std::string& kubeconfig) {
  kube::ConfigOverrides overrides;
  overrides.kubeconfig = kubeconfig;
  FLEETADM_TRY(const auto config, kube::load_rest_config(overrides));
  Load out;
  const auto& maps = kube::resources::config_maps();
  FLEETADM_TRY(out.writes, rate(config, kWrites, [&](const kube::Client& client, int i) -> Status {
                 FLEETADM_TRY(const Json made, client.create(maps, "default", map_of("m" + std::to_string(i))));
                 return {};
               }));
  FLEETADM_TRY(out.reads, rate(config, kReads, [&](const kube::Client& client, int i) -> Status {
                 FLEETADM_TRY(const Json found, client.get(maps, "default", "m" + std::to_string(i % kWrites)));
                 return {};
               }));
  FLEETADM_TRY(const auto delays, fan_out(config));
  out.fan_out_50 = delays[delays.size() / 2];
  out.fan_out_99 = delays[delays.size() * 99 / 100];
  return out;
}

void print(const char* what, double ours, double theirs, const char* unit) {
  std::printf("  %-34s %10.1f %-4s kube-apiserver %10.1f %-4s ours is %.2f of it\n", what, ours, unit, theirs, unit,
              theirs > 0 ? ours / theirs : 0);
}

Status load(const std::string& binary) {
  std::printf("\n%d writes, %d reads by %d clients; %d changes to %d watchers\n", kWrites, kReads, kClients, kChanges, kWatchers);
  Sandboxes sandboxes(binary);
  FLEETADM_CHECK(sandboxes.run({"up", "--name", kName, "--clusters", "0", "--nodes=false"}));
  FLEETADM_TRY(const auto ours, measure(sandboxes.home().kubeconfig(kName).string()));
  FLEETADM_CHECK(sandboxes.run({"down", "--name", kName}));
  FLEETADM_TRY(const auto server, testkit::KubeServer::start({.name = kName, .controller_manager = false}));
  FLEETADM_TRY(const auto theirs, measure(server->kubeconfig_file()));
  print("writes a second", ours.writes, theirs.writes, "/s");
  print("reads a second", ours.reads, theirs.reads, "/s");
  print("change to watcher, median", ours.fan_out_50, theirs.fan_out_50, "ms");
  print("change to watcher, 99 of 100", ours.fan_out_99, theirs.fan_out_99, "ms");
  for (const auto& [name, one] : {std::pair("fleetadm", ours), std::pair("kube-apiserver", theirs)}) {
    std::printf(
        "{\"bench\": \"sandbox-load\", \"server\": \"%s\", \"writes\": %.1f, \"reads\": %.1f, \"p50_ms\": %.2f, "
        "\"p99_ms\": %.2f}\n",
        name, one.writes, one.reads, one.fan_out_50, one.fan_out_99);
  }
  return {};
}

Status crash(const std::string& binary) {
  const auto rounds = std::stoi(setting("FLEETADM_BENCH_ROUNDS", "100"));
  FLEETADM_TRY(const auto outcome, testkit::crash_sandbox(binary, rounds, 800));
  std::printf(
      "\n%d kills under load: %d writes acknowledged, %zu of them lost; %d events watched, %zu skipped; %d times told 410\n",
      outcome.rounds, outcome.acknowledged, outcome.lost.size(), outcome.events, outcome.skipped.size(), outcome.told_gone);
  for (const auto& one : outcome.lost) std::printf("  lost: %s\n", one.c_str());
  for (const auto& one : outcome.skipped) std::printf("  skipped: %s\n", one.c_str());
  if (!outcome.lost.empty() || !outcome.skipped.empty()) return fail(Category::kInternal, "the sandbox forgot something");
  return {};
}

}  // namespace
}  // namespace fleetadm::bench

int main(int argc, char** argv) {
  using namespace fleetadm;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const char* binary = std::getenv("FLEETADM_BINARY");
  if (binary == nullptr) {
    std::fprintf(stderr, "bench_sandbox: FLEETADM_BINARY is not set\n");
    return 64;
  }
  const std::vector<std::string> wanted(argv + 1, argv + argc);
  struct Part {
    const char* name;
    Status (*run)(const std::string& binary);
  };
  for (const auto& [name, run] :
       {Part{"scale", bench::scale}, Part{"fleet", bench::fleet}, Part{"load", bench::load}, Part{"crash", bench::crash}}) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
    if (const auto done = run(binary); !done) {
      std::fprintf(stderr, "bench_sandbox: %s: %s\n", name, done.error().message.c_str());
      return 1;
    }
  }
  return 0;
}
