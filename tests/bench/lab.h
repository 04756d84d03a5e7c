// A sandbox for the benchmarks of agents and of the hub: servers in one process, and processes of the binary beside it.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/api/kinds.h"
#include "core/sandbox/fleet/home.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/yaml.h"
#include "tests/bench/in_parallel.h"
#include "tests/bench/report.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::bench {

using namespace std::chrono_literals;

inline constexpr const char* kName = "bench";
inline constexpr const char* kMembers = "members";

/// Without watches.
struct Requests {
  double all = 0;
  double writes = 0;    // what changed or could have changed an object; not dry runs and reviews
  double refused = 0;   // writes that were answered with an error
  double renewals = 0;  // writes of leases
};

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

  /// The servers, and on the hub what `init` with these further arguments installs.
  Status serve(int members, std::vector<std::string> init = {}) {
    FLEETADM_CHECK(
        command({"sandbox", "up", "--name", kName, "--clusters", std::to_string(members), "--ephemeral", "--nodes=false"}));
    FLEETADM_TRY(kubeconfig_, kube::Kubeconfig::load({.kubeconfig = file()}));
    init.insert(init.begin(), {"init", "--context", context(0)});
    FLEETADM_CHECK(command(std::move(init)));
    FLEETADM_TRY(hub_, client(0));
    return {};
  }
  /// The servers, the hub's controllers, and members that agents can join.
  Status begin(int members) {
    FLEETADM_CHECK(serve(members));
    FLEETADM_TRY(controllers_, start({"hub", "run", "--context", context(0), "--leader-elect=false"}));
    FLEETADM_CHECK(issue_bootstrap());
    return in_parallel(members, [this](int i) { return prepare(i + 1); });
  }
  /// A bootstrap kubeconfig of the hub.
  Status issue_bootstrap() {
    const Json request{{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", Json::object()}};
    FLEETADM_TRY(const Json issued, hub_->post("/api/v1/namespaces/open-cluster-management/serviceaccounts/"
                                               "agent-registration-bootstrap/token",
                                               request, false));
    FLEETADM_TRY(Json bootstrap, kubeconfig_.flatten(context(0)));
    bootstrap["users"][0]["user"] = {{"token", str(issued, {"status", "token"})}};
    bootstrap_ = dump_yaml(bootstrap);
    return {};
  }
  /// What an agent finds on a member.
  Status prepare(int i) const {
    FLEETADM_TRY(const kube::Client member, client(i));
    FLEETADM_CHECK(
        member
            .create(kube::resources::namespaces(), "",
                    {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", std::string(api::kAgentNamespace)}}}})
            .map([](const Json&) {}));
    return install_types(member, "crds/spoke/", "agent");
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
    std::filesystem::remove(output());
    FLEETADM_TRY(auto child, sandbox::Child::start(spec(std::move(args), "output")));
    const auto ended = child.wait(15min);
    if (!ended || ended->code != 0) return fail(Category::kInternal, "fleetadm " + name + ": " + testkit::read_file(output()));
    return {};
  }

  /// Ends one of them.
  void stop(pid_t pid) {
    for (sandbox::Child& process : processes_) {
      if (process.pid() == pid) process.stop(20s);
    }
  }

  /// Ends the hub's controllers: what the servers are asked from then on, agents ask.
  void stop_controllers() { stop(controllers_); }

  /// What the hub (0) or a member answered so far.
  Result<Requests> requests(int server) const {
    FLEETADM_TRY(const kube::Client asked, client(server));
    FLEETADM_TRY(const kube::Response answer, asked.raw({.path = "/metrics"}));
    Requests counted;
    std::istringstream lines(answer.body);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("apiserver_request_total{") || line.find("verb=\"WATCH\"") != std::string::npos) continue;
      const double count = std::strtod(line.c_str() + line.rfind(' '), nullptr);
      counted.all += count;
      const bool reads = line.find("verb=\"GET\"") != std::string::npos || line.find("verb=\"LIST\"") != std::string::npos;
      if (reads || line.find("dry_run=\"All\"") != std::string::npos || line.find("reviews\"") != std::string::npos) continue;
      if (line.find("resource=\"leases\"") != std::string::npos) counted.renewals += count;
      (line.find("code=\"2") != std::string::npos ? counted.writes : counted.refused) += count;
    }
    return counted;
  }
  Result<double> all_requests(int members) const {
    double all = 0;
    for (int i = 0; i <= members; ++i) {
      FLEETADM_TRY(const Requests counted, requests(i));
      all += counted.all;
    }
    return all;
  }

  static std::string context(int i) { return i == 0 ? "bench-hub" : "bench-c" + std::to_string(i); }
  Result<kube::Client> client(int i) const {
    kube::ConfigOverrides which;
    which.context = context(i);
    FLEETADM_TRY(const kube::RestConfig config, kubeconfig_.resolve(which));
    return kube::Client::connect(config);
  }
  const kube::Client& hub() const { return *hub_; }

 private:
  static Json secret(const std::string& name, const std::string& kubeconfig) {
    return {{"apiVersion", "v1"},
            {"kind", "Secret"},
            {"metadata", {{"name", name}, {"namespace", kMembers}}},
            {"data", {{"kubeconfig", base64_encode(kubeconfig)}}}};
  }
  std::string file() const { return home_.kubeconfig(kName).string(); }
  std::string output() const { return (folder_.path() / "output").string(); }
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
  testkit::TemporaryFolder folder_{"bench-lab"};
  sandbox::SandboxHome home_;
  kube::Kubeconfig kubeconfig_;
  std::string bootstrap_;
  std::optional<kube::Client> hub_;
  std::vector<sandbox::Child> processes_;
  pid_t controllers_ = 0;  // of the hub
};

inline int threads_of(pid_t pid) {
  const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
  return static_cast<int>(std::distance(std::filesystem::directory_iterator(tasks), {}));
}

}  // namespace fleetadm::bench
