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

struct Sample {
  double milliseconds = 0;
  double mebibytes = 0;
  std::string failure;  // "exit code 1", "signal 6"; empty where it ended well
};

Sample run_once(const Program& program, const std::vector<std::string>& environment) {
  std::vector<char*> argv;
  for (const auto& word : program.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (const auto& word : environment) envp.push_back(const_cast<char*>(word.c_str()));
  envp.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  // What it says of a failure is shown; what it prints is not.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
  Sample sample;
  pid_t pid = 0;
  const auto begin = Timer::now();
  const int failed = posix_spawn(&pid, argv.front(), &files, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) {
    sample.failure = std::strerror(failed);
    return sample;
  }
  int status = 0;
  rusage usage{};
  wait4(pid, &status, 0, &usage);
  sample.milliseconds = std::chrono::duration<double, std::milli>(Timer::now() - begin).count();
  sample.mebibytes = static_cast<double>(usage.ru_maxrss) / 1024.0;
  if (WIFSIGNALED(status)) sample.failure = "signal " + std::to_string(WTERMSIG(status));
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) sample.failure = "exit code " + std::to_string(WEXITSTATUS(status));
  return sample;
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
      const Sample sample = run_once(programs[p], environment);
      if (!sample.failure.empty()) {
        std::printf("%s: %s ended with %s\n", title.c_str(), programs[p].label.c_str(), sample.failure.c_str());
        return false;
      }
      if (i < 0) continue;
      times[p].push_back(sample.milliseconds);
      memory[p].push_back(sample.mebibytes);
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
  if (const Status done = run(); !done) {
    std::fprintf(stderr, "bench_cli: %s\n", done.error().message.c_str());
    return 1;
  }
  return 0;
}
