// bench_cli: start-up time and peak memory of `version` and `get clusters` beside kubectl, and beside clusteradm where
// FLEETADM_PEERS has it. Runs alternate (A B C A B C …), so that the ratios hold on a machine whose speed drifts.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/install/install.h"
#include "kubeclient/config/kubeconfig.h"
#include "templates/templates.h"
#include "tests/support/kube_servers.h"

namespace {

using namespace fleetadm;
using namespace fleetadm::testkit;
using Timer = std::chrono::steady_clock;

struct Program {
  std::string label;
  std::vector<std::string> argv;
};

// The strings of an argv or environment as the system takes them.
std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (const auto& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

std::string failure_of(int status) {  // "exit code 1", "signal 6"; empty where it ended well
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) return "exit code " + std::to_string(WEXITSTATUS(status));
  return {};
}

// Starts `argv` with nothing on its input; what it says of a failure is shown. -1: it cannot be started.
pid_t start(const std::vector<std::string>& argv, const std::vector<std::string>& environment, int output) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (output < 0) {
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  } else {
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  }
  pid_t pid = -1;
  const int failed =
      posix_spawn(&pid, argv.front().c_str(), &files, nullptr, pointers(argv).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&files);
  return failed == 0 ? pid : -1;
}

struct Sample {
  double value = 0;  // milliseconds or MiB
  std::string failure;
};

Sample time_of(const Program& program, const std::vector<std::string>& environment) {
  const auto begin = Timer::now();
  const pid_t pid = start(program.argv, environment, -1);
  if (pid < 0) return {0, "no start"};
  int status = 0;
  waitpid(pid, &status, 0);
  return {std::chrono::duration<double, std::milli>(Timer::now() - begin).count(), failure_of(status)};
}

// A process that is spawned here inherits our own peak: what was mapped before exec counts. A shell, which is small, starts it
// instead and ends; the program becomes our child then (main() made this process the reaper of orphans).
Sample memory_of(const Program& program, const std::vector<std::string>& environment) {
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) return {0, std::strerror(errno)};
  std::vector<std::string> argv{"/bin/sh", "-c", "\"$@\" >/dev/null & echo $!", "sh"};
  argv.insert(argv.end(), program.argv.begin(), program.argv.end());
  const pid_t shell = start(argv, environment, pipe[1]);
  close(pipe[1]);
  std::array<char, 32> text{};
  const ssize_t got = shell < 0 ? 0 : read(pipe[0], text.data(), text.size() - 1);
  close(pipe[0]);
  if (shell > 0) waitpid(shell, nullptr, 0);
  const pid_t pid = got > 0 ? std::atoi(text.data()) : 0;
  int status = 0;
  rusage usage{};
  if (pid <= 0 || wait4(pid, &status, 0, &usage) != pid) return {0, "no start"};
  return {static_cast<double>(usage.ru_maxrss) / 1024.0, failure_of(status)};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

// Times the programs in turn and prints a row each; ratios are the first program's figure over the row's.
bool compare(const std::string& title, const std::vector<Program>& programs, const std::vector<std::string>& environment,
             int runs) {
  std::vector<std::vector<double>> times(programs.size());
  std::vector<std::vector<double>> memory(programs.size());
  for (int i = -1; i < runs; ++i) {  // the first round warms the page cache
    for (std::size_t p = 0; p < programs.size(); ++p) {
      const bool weigh = i % 4 == 0;
      const Sample time = time_of(programs[p], environment);
      const Sample peak = weigh ? memory_of(programs[p], environment) : Sample{};
      for (const Sample& sample : {time, peak}) {
        if (sample.failure.empty()) continue;
        std::printf("%s: %s ended with %s\n", title.c_str(), programs[p].label.c_str(), sample.failure.c_str());
        return false;
      }
      if (i >= 0) times[p].push_back(time.value);
      if (weigh) memory[p].push_back(peak.value);
    }
  }
  std::printf("\n%s (%d runs each, medians)\n", title.c_str(), runs);
  std::printf("  %-12s %10s %10s %12s %12s\n", "", "ms", "peak MiB", "time ratio", "memory ratio");
  for (std::size_t p = 0; p < programs.size(); ++p) {
    std::printf("  %-12s %10.1f %10.1f", programs[p].label.c_str(), median(times[p]), median(memory[p]));
    if (p == 0) {
      std::printf("\n");
    } else {
      std::printf(" %12.2f %12.2f\n", median(times[0]) / median(times[p]), median(memory[0]) / median(memory[p]));
    }
  }
  return true;
}

Status install_types(const KubeServer& server) {
  FLEETADM_TRY(const auto kubeconfig, kube::Kubeconfig::from_text(server.kubeconfig()));
  FLEETADM_TRY(const auto config, kubeconfig.resolve({}));
  std::vector<Json> objects;
  for (const auto file : templates::list("crds/hub/")) {
    FLEETADM_TRY(auto rendered, templates::render(file, {}));
    for (Json& object : rendered) objects.push_back(std::move(object));
  }
  install::Options options;
  options.part = install::kHubPart;
  FLEETADM_TRY([[maybe_unused]] const auto changes,
               install::apply_all(kube::Client::connect(config), std::move(objects), options));
  return {};
}

// A cluster as a joined one looks: conditions, capacity, claims; about 2 KiB.
Status add_cluster(const KubeServer& server, int number) {
  constexpr std::string_view kPath = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
  const std::string name = "cluster-" + std::to_string(number);
  const Json object{
      {"apiVersion", "cluster.open-cluster-management.io/v1"},
      {"kind", "ManagedCluster"},
      {"metadata",
       {{"name", name}, {"labels", {{"cluster.open-cluster-management.io/clusterset", "default"}, {"tier", "gold"}}}}},
      {"spec", {{"hubAcceptsClient", true}, {"leaseDurationSeconds", 60}}}};
  if (const auto made = server.create(kPath, object); made.status != 201)
    return fail(Category::kInternal, "cannot create " + name + ": " + made.body);
  Json conditions = Json::array();
  for (const char* type : {"HubAcceptedManagedCluster", "ManagedClusterJoined", "ManagedClusterConditionAvailable",
                           "ManagedClusterConditionClockSynced"}) {
    conditions.push_back({{"type", type},
                          {"status", "True"},
                          {"reason", "Benchmark"},
                          {"message", "made by a benchmark"},
                          {"lastTransitionTime", "2026-01-01T00:00:00Z"}});
  }
  const Json resources{{"cpu", "16"}, {"memory", "64Gi"}, {"pods", "110"}, {"ephemeral-storage", "200Gi"}};
  const Json status{{"status",
                     {{"conditions", conditions},
                      {"version", {{"kubernetes", "v1.35.4"}}},
                      {"capacity", resources},
                      {"allocatable", resources},
                      {"clusterClaims", Json::array({{{"name", "id.k8s.io"}, {"value", name}}})}}}};
  const auto patched =
      server.request("PATCH", std::string(kPath) + "/" + name + "/status", dump_json(status), "application/merge-patch+json");
  if (patched.status != 200) return fail(Category::kInternal, "cannot patch " + name + ": " + patched.body);
  return {};
}

// The set that every hub has.
Status add_default_set(const KubeServer& server) {
  const Json object{{"apiVersion", "cluster.open-cluster-management.io/v1beta2"},
                    {"kind", "ManagedClusterSet"},
                    {"metadata", {{"name", "default"}}},
                    {"spec", {{"clusterSelector", {{"selectorType", "ExclusiveClusterSetLabel"}}}}}};
  const auto made = server.create("/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets", object);
  if (made.status != 201) return fail(Category::kInternal, "cannot create the set: " + made.body);
  return {};
}

Status run() {
  const char* binary = std::getenv("FLEETADM_BINARY");
  if (binary == nullptr) return fail(Category::kUsage, "FLEETADM_BINARY is not set: use ./dev bench cli");
  FLEETADM_TRY(const std::string programs, KubeServer::programs());
  const std::string kubectl = programs + "/kubectl";
  const char* peers = std::getenv("FLEETADM_PEERS");
  const std::string clusteradm = peers == nullptr ? std::string() : std::string(peers) + "/clusteradm";
  const bool has_clusteradm = !clusteradm.empty() && std::filesystem::exists(clusteradm);

  FLEETADM_TRY(const auto server, KubeServer::start({.name = "hub", .controller_manager = false}));
  const std::vector<std::string> environment{"HOME=" + server->folder().string(), "PATH=/usr/bin:/bin",
                                             "KUBECONFIG=" + server->kubeconfig_file()};

  std::vector<Program> version{{"fleetadm", {binary, "version", "--client"}}, {"kubectl", {kubectl, "version", "--client"}}};
  if (has_clusteradm) version.push_back({"clusteradm", {clusteradm, "version"}});
  if (!compare("version", version, environment, 21)) return fail(Category::kInternal, "a program failed");

  FLEETADM_CHECK(install_types(*server));
  FLEETADM_CHECK(add_default_set(*server));
  int made = 0;
  for (const int wanted : {1, 1000, 3000}) {
    for (; made < wanted; ++made) FLEETADM_CHECK(add_cluster(*server, made));
    std::vector<Program> list{{"fleetadm", {binary, "get", "clusters"}}, {"kubectl", {kubectl, "get", "managedclusters"}}};
    if (has_clusteradm) list.push_back({"clusteradm", {clusteradm, "get", "clusters", "-o", "table"}});
    if (!compare("get clusters, " + std::to_string(wanted), list, environment, 11))
      return fail(Category::kInternal, "a program failed");
  }
  return {};
}

}  // namespace

int main() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (const Status done = run(); !done) {
    std::fprintf(stderr, "bench_cli: %s\n", done.error().message.c_str());
    return 1;
  }
  return 0;
}
