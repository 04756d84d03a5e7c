// What idle agents cost: one that runs for itself, and many hosted members in one process: memory, threads and processor time
// of the process, and requests a minute to the servers beside watches. The servers are a sandbox's. Beside the one that runs for
// itself: upstream's registration and work agents, on another sandbox with our hub, where $FLEETADM_PEERS has them.
//   bench_agent   FLEETADM_BENCH_AGENTS=1,200 (1: one for itself), FLEETADM_BENCH_IDLE=120 seconds of rest that are measured
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/api/kinds.h"
#include "core/sandbox/fleet/home.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/yaml.h"
#include "tests/bench/in_parallel.h"
#include "tests/bench/report.h"
#include "tests/interop/peers.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::bench {
namespace {

using namespace std::chrono_literals;

constexpr const char* kName = "bench";
constexpr const char* kMembers = "members";
constexpr auto kSettle = 60s;  // after the last member is available

/// A sandbox with a hub and members that run nothing.
class Lab {
 public:
  explicit Lab(std::string binary) : binary_(std::move(binary)), home_(folder_.path()) {}
  ~Lab() {
    processes_.clear();
    static_cast<void>(home_.stop(kName, 20s));
  }
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  Status begin(int members) {
    FLEETADM_CHECK(
        command({"sandbox", "up", "--name", kName, "--clusters", std::to_string(members), "--ephemeral", "--nodes=false"}));
    FLEETADM_TRY(kubeconfig_, kube::Kubeconfig::load({.kubeconfig = file()}));
    FLEETADM_CHECK(command({"init", "--context", context(0)}));
    FLEETADM_TRY(hub_, client(0));
    const Json request{{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", Json::object()}};
    FLEETADM_TRY(const Json issued, hub_->post("/api/v1/namespaces/open-cluster-management/serviceaccounts/"
                                               "agent-registration-bootstrap/token",
                                               request, false));
    FLEETADM_CHECK(start({"hub", "run", "--context", context(0), "--leader-elect=false"}).map([](pid_t) {}));
    FLEETADM_TRY(Json bootstrap, kubeconfig_.flatten(context(0)));
    bootstrap["users"][0]["user"] = {{"token", str(issued, {"status", "token"})}};
    bootstrap_ = dump_yaml(bootstrap);
    return in_parallel(members, [this](int i) -> Status {
      FLEETADM_TRY(const kube::Client member, client(i + 1));
      FLEETADM_CHECK(
          member
              .create(kube::resources::namespaces(), "",
                      {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", std::string(api::kAgentNamespace)}}}})
              .map([](const Json&) {}));
      return install_types(member, "crds/spoke/", "agent");
    });
  }

  /// What one process needs to host the members.
  Status keep_secrets(int members) {
    const auto make = [this](const kube::Resource& resource, std::string_view ns, const Json& object) {
      return hub_->create(resource, ns, object).map([](const Json&) {});
    };
    FLEETADM_CHECK(make(kube::resources::namespaces(), "",
                        {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", kMembers}}}}));
    FLEETADM_CHECK(make(kube::resources::secrets(), kMembers, secret("bootstrap-hub-kubeconfig", bootstrap_)));
    for (int i = 1; i <= members; ++i) {
      FLEETADM_TRY(const std::string kubeconfig, member_kubeconfig(i));
      Json object = secret("member-c" + std::to_string(i), kubeconfig);
      object["metadata"]["labels"] = {{"fleetadm.io/hosted-member", "c" + std::to_string(i)}};
      FLEETADM_CHECK(make(kube::resources::secrets(), kMembers, object));
    }
    return {};
  }
  Result<std::string> bootstrap_file() {
    const auto path = folder_.path() / "bootstrap.kubeconfig";
    std::ofstream(path) << bootstrap_;
    return path.string();
  }

  const std::string& bootstrap() const { return bootstrap_; }
  Result<std::string> member_kubeconfig(int i) const {
    FLEETADM_TRY(const Json flat, kubeconfig_.flatten(context(i)));
    return dump_yaml(flat);
  }
  /// Waits until they are accepted, or available.
  Status accept(int members, const std::string& until) {
    std::vector<std::string> args = {"accept", "--context", context(0), "--wait=" + until, "--yes", "--timeout=10m"};
    for (int i = 1; i <= members; ++i) args.push_back("c" + std::to_string(i));
    return command(args);
  }

  /// A process of the binary that runs on.
  Result<pid_t> start(std::vector<std::string> args) {
    FLEETADM_TRY(auto child, sandbox::Child::start(spec(std::move(args), "log" + std::to_string(processes_.size()))));
    processes_.push_back(std::move(child));
    return processes_.back().pid();
  }
  Status command(std::vector<std::string> args) {
    const std::string name = args.front();
    FLEETADM_TRY(auto child, sandbox::Child::start(spec(std::move(args), "output")));
    const auto ended = child.wait(15min);
    if (!ended || ended->code != 0) return fail(Category::kInternal, "fleetadm " + name + ": " + testkit::read_file(output()));
    return {};
  }

  /// Requests that the hub and the members answered so far, without watches.
  Result<double> requests(int members) const {
    double all = 0;
    for (int i = 0; i <= members; ++i) {
      FLEETADM_TRY(const kube::Client server, client(i));
      FLEETADM_TRY(const kube::Response answer, server.raw({.path = "/metrics"}));
      std::istringstream lines(answer.body);
      for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("apiserver_request_total{") || line.find("verb=\"WATCH\"") != std::string::npos) continue;
        all += std::strtod(line.c_str() + line.rfind(' '), nullptr);
      }
    }
    return all;
  }

 private:
  static std::string context(int i) { return i == 0 ? "bench-hub" : "bench-c" + std::to_string(i); }
  static Json secret(const std::string& name, const std::string& kubeconfig) {
    return {{"apiVersion", "v1"},
            {"kind", "Secret"},
            {"metadata", {{"name", name}, {"namespace", kMembers}}},
            {"data", {{"kubeconfig", base64_encode(kubeconfig)}}}};
  }
  std::string file() const { return home_.kubeconfig(kName).string(); }
  std::string output() const { return (folder_.path() / "output").string(); }
  Result<kube::Client> client(int i) const {
    kube::ConfigOverrides which;
    which.context = context(i);
    FLEETADM_TRY(const kube::RestConfig config, kubeconfig_.resolve(which));
    return kube::Client::connect(config);
  }
  sandbox::ChildSpec spec(std::vector<std::string> args, const std::string& log) const {
    sandbox::ChildSpec spec;
    spec.program = binary_;
    spec.args = std::move(args);
    spec.environment = {"FLEETADM_SANDBOX_DIR=" + folder_.path().string(), "KUBECONFIG=" + file(), "PATH=/usr/bin:/bin",
                        "HOME=" + folder_.path().string()};
    spec.output_file = (folder_.path() / log).string();
    return spec;
  }

  std::string binary_;
  testkit::TemporaryFolder folder_{"bench-agent"};
  sandbox::SandboxHome home_;
  kube::Kubeconfig kubeconfig_;
  std::string bootstrap_;
  std::optional<kube::Client> hub_;
  std::vector<sandbox::Child> processes_;
};

int threads_of(pid_t pid) {
  const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
  return static_cast<int>(std::distance(std::filesystem::directory_iterator(tasks), {}));
}

/// Accepts all members, and looks at the processes of their agents (begun at `begun`) once they have nothing to do.
Result<Figures> figures_at_rest(Lab& lab, int members, const std::vector<pid_t>& agents, Timer::time_point begun) {
  FLEETADM_CHECK(lab.accept(members, "available"));
  Figures figures;
  figures.set("joined", seconds_since(begun));
  const auto idle = std::chrono::seconds(number("FLEETADM_BENCH_IDLE", 120, 10));
  const auto sum = [&](const auto& of_one) {
    double all = 0;
    for (const pid_t agent : agents) all += of_one(agent);
    return all;
  };
  std::this_thread::sleep_for(kSettle);
  FLEETADM_TRY(const double before, lab.requests(members));
  const double busy = sum(cpu_seconds);
  std::this_thread::sleep_for(idle);
  const double minutes = std::chrono::duration<double>(idle).count() / 60;
  figures.set("cpu", (sum(cpu_seconds) - busy) / minutes);
  FLEETADM_TRY(const double after, lab.requests(members));
  figures.set("requests", (after - before) / minutes / members);
  figures.set("memory", sum([](pid_t agent) { return mebibytes(agent, "VmRSS:"); }));
  figures.set("anonymous", sum([](pid_t agent) { return mebibytes(agent, "RssAnon:"); }));
  figures.set("peak", sum([](pid_t agent) { return mebibytes(agent, "VmHWM:"); }));
  figures.set("threads", sum(threads_of));
  return figures;
}

Result<Figures> measure(const std::string& binary, int members) {
  Lab lab(binary);
  FLEETADM_CHECK(lab.begin(members));
  std::vector<std::string> args = {"agent", "run", "--context"};
  if (members == 1) {
    FLEETADM_TRY(const std::string bootstrap, lab.bootstrap_file());
    args.insert(args.end(), {"bench-c1", "--cluster-name=c1", "--bootstrap-kubeconfig=" + bootstrap});
  } else {
    FLEETADM_CHECK(lab.keep_secrets(members));
    args.insert(args.end(), {"bench-hub", std::string("--hosted-from=") + kMembers});
  }
  const auto begun = Timer::now();
  FLEETADM_TRY(const pid_t agent, lab.start(args));
  return figures_at_rest(lab, members, {agent}, begun);
}

/// Upstream's two agents of one cluster; nothing without its programs.
Result<std::optional<Figures>> measure_upstream(const std::string& binary) {
  if (!testkit::peers_folder()) return std::nullopt;
  Lab lab(binary);
  FLEETADM_CHECK(lab.begin(1));
  const testkit::TemporaryFolder folder("bench-upstream");
  testkit::Peers peers(folder);
  FLEETADM_TRY(const std::string member, lab.member_kubeconfig(1));
  const std::string spoke = folder.write("spoke.kubeconfig", member);
  const auto begun = Timer::now();
  FLEETADM_CHECK(peers.start_registration_agent(spoke, "c1", lab.bootstrap()));
  FLEETADM_CHECK(lab.accept(1, "accepted"));
  for (int i = 0; i < 300 && !peers.has_hub_kubeconfig("c1"); ++i) std::this_thread::sleep_for(100ms);
  FLEETADM_CHECK(peers.start_work_agent(spoke, "c1"));
  auto figures = figures_at_rest(lab, 1, {*peers.pid("c1-registration-agent"), *peers.pid("c1-work-agent")}, begun);
  if (!figures) return fail(figures.error().wrap(peers.log("c1-registration-agent") + peers.log("c1-work-agent")));
  return std::optional(std::move(*figures));
}

Status all(const std::string& binary) {
  std::istringstream sizes(variable("FLEETADM_BENCH_AGENTS").empty() ? "1,200" : variable("FLEETADM_BENCH_AGENTS"));
  for (std::string size; std::getline(sizes, size, ',');) {
    const int members = std::max(1, std::atoi(size.c_str()));
    const bool hosted = members > 1;
    std::printf("\n%s\n", hosted ? (size + " hosted members in one process").c_str() : "One agent");
    FLEETADM_TRY(const Figures figures, measure(binary, members));
    std::optional<Figures> theirs;
    if (!hosted) {
      FLEETADM_TRY(theirs, measure_upstream(binary));
    }
    const Row rows[] = {{"joined", "until all are available", "s"},
                        {"memory", "resident at rest", "MiB", hosted ? 64.0 : 10.0},
                        {"anonymous", "of it its own", "MiB"},
                        {"peak", "highest", "MiB"},
                        {"threads", "threads", "", hosted ? 20.0 : 0},
                        {"cpu", "processor time a minute", "s"},
                        // A lease is renewed every 60 to 75 s. The hub's own requests are among these.
                        {"requests", "requests a minute, a member", ""}};
    print_table(rows, figures, theirs);
    std::printf("{\"bench\": \"agent\", \"members\": %d, \"mib\": %.1f, \"threads\": %.0f, \"cpu\": %.3f, \"requests\": %.2f}\n",
                members, figures.get("memory").value_or(0), figures.get("threads").value_or(0), figures.get("cpu").value_or(0),
                figures.get("requests").value_or(0));
  }
  return {};
}

}  // namespace
}  // namespace fleetadm::bench

int main() {
  const auto done = fleetadm::bench::all(fleetadm::testkit::Fleet::binary());
  if (!done) std::fprintf(stderr, "bench_agent: %s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
