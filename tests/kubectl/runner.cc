#include "tests/kubectl/runner.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include "core/sandbox/node/child.h"

namespace fleetadm::kubectl {
namespace fs = std::filesystem;
namespace {

constexpr auto kLongestStep = std::chrono::seconds(90);
constexpr auto kPatience = std::chrono::seconds(60);
constexpr auto kPause = std::chrono::milliseconds(400);  // a kubectl takes 80 ms of a processor

// Besides those that the project's other suites need.
constexpr const char* kControllers =
    "--controllers=cronjob-controller,daemonset-controller,disruption-controller,endpoints-controller,endpointslice-controller,"
    "persistentvolume-protection-controller,persistentvolumeclaim-protection-controller,replicationcontroller-controller,"
    "resourcequota-controller,statefulset-controller,validatingadmissionpolicy-status-controller";

constexpr std::string_view kPrelude =
    "lines() { : >>\"$2\"; n=0; while [ \"$(wc -l <\"$2\")\" -lt \"$1\" ] && [ $n -lt 300 ]; do sleep 0.1; n=$((n + 1)); done; "
    "}\n";

std::string file_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Place {
  const testkit::KubeServer& server;
  fs::path folder;  // of the group on this server
  std::vector<std::string> environment;
};

StepOutcome run_once(const Place& place, const Step& step, const std::string& number) {
  StepOutcome outcome;
  const auto out = place.folder / (number + ".out");
  const auto err = place.folder / (number + ".err");
  std::error_code ignored;
  fs::remove(out, ignored);
  fs::remove(err, ignored);
  sandbox::ChildSpec spec;
  spec.program = "/bin/sh";
  spec.args = {"-c", "exec >'" + out.string() + "' 2>'" + err.string() + "'\n" + std::string(kPrelude) + step.run};
  spec.environment = place.environment;
  spec.folder = (place.folder / "work").string();
  auto child = sandbox::Child::start(spec);
  if (!child) {
    outcome.err = child.error().message;
    return outcome;
  }
  auto ended = child->wait(kLongestStep);
  outcome.timed_out = !ended.has_value();
  if (!ended) ended = child->stop(std::chrono::seconds(1));
  outcome.exit_code = ended->code;
  outcome.out = file_text(out);
  outcome.err = file_text(err);
  return outcome;
}

StepOutcome run_step(const Place& place, const Step& step, const std::string& number) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    auto outcome = run_once(place, step, number);
    const bool right = step.exit_code < 0 || outcome.exit_code == step.exit_code;
    outcome.shown = outcome.out.find(step.shows) != std::string::npos;
    if (!step.until || (right && outcome.shown) || outcome.timed_out || std::chrono::steady_clock::now() > deadline)
      return outcome;
    std::this_thread::sleep_for(kPause);
  }
}

/// The namespace with what its controllers put into it.
std::string make_namespace(const testkit::KubeServer& server, const std::string& name) {
  const Json ns = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}};
  if (const auto made = server.create("/api/v1/namespaces", ns); made.status != 201) return made.body;
  const auto base = "/api/v1/namespaces/" + name;
  const auto there = [](const Json& object) { return !object.is_null(); };
  if (!server.eventually(base + "/serviceaccounts/default", there) ||
      !server.eventually(base + "/configmaps/kube-root-ca.crt", there))
    return "the namespace " + name + " was not ready in time";
  return {};
}

GroupOutcome run_on(const testkit::KubeServer& server, const Group& group, const std::string& kubectl_folder) {
  const auto began = std::chrono::steady_clock::now();
  GroupOutcome outcome;
  outcome.trouble = make_namespace(server, group.name);
  if (!outcome.trouble.empty()) return outcome;
  Place place{server, server.folder() / "groups" / group.name, {}};
  outcome.folder = place.folder.string();
  std::error_code failed;
  for (const char* name : {"work", "home", "tmp"}) fs::create_directories(place.folder / name, failed);
  for (const auto& [name, content] : group.files) {
    fs::create_directories((place.folder / "work" / name).parent_path(), failed);
    std::ofstream(place.folder / "work" / name, std::ios::binary) << content;
  }
  auto config = parse_json(server.kubeconfig());
  if (!config) {
    outcome.trouble = config.error().message;
    return outcome;
  }
  for (Json& context : at_or_make(*config, {"contexts"})) at_or_make(context, {"context", "namespace"}) = group.name;
  const auto kubeconfig = place.folder / "kubeconfig";
  std::ofstream(kubeconfig, std::ios::binary) << dump_json(*config);
  fs::permissions(kubeconfig, fs::perms::owner_read | fs::perms::owner_write, failed);
  place.environment = {"PATH=" + kubectl_folder + ":/usr/local/bin:/usr/bin:/bin",
                       "HOME=" + (place.folder / "home").string(),
                       "TMPDIR=" + (place.folder / "tmp").string(),
                       "KUBECONFIG=" + kubeconfig.string(),
                       "GOGC=off",  // it ends before there is anything worth collecting
                       "LC_ALL=C",
                       "TZ=UTC"};
  for (const auto& step : group.steps) outcome.steps.push_back(run_step(place, step, std::to_string(outcome.steps.size() + 1)));
  outcome.took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  return outcome;
}

}  // namespace

Result<std::unique_ptr<ServerPair>> ServerPair::start() {
  auto pair = std::make_unique<ServerPair>();
  std::vector<testkit::KubeServerOptions> options(2);
  for (auto& each : options) each.name = "kubectl";
  options[0].embedded = true;
  options[0].controller_manager = false;
  options[1].controller_manager_flags = {kControllers};
  const auto kubelet_port = testkit::free_port();
  options[1].apiserver_flags = Kubelet::apiserver_flags(kubelet_port);
  const std::array containers = {std::make_shared<sandbox::ContainerTable>(), std::make_shared<sandbox::ContainerTable>()};
  options[0].containers = containers[0];
  FLEETADM_TRY(pair->servers_, testkit::KubeServer::start_all(std::move(options)));
  FLEETADM_TRY(pair->kubelet_, Kubelet::start(*pair->servers_[1], containers[1], kubelet_port));
  for (std::size_t i = 0; i < containers.size(); ++i) {
    FLEETADM_TRY(auto node, PodNode::start(*pair->servers_[i], containers[i]));
    pair->nodes_.push_back(std::move(node));
  }
  return pair;
}

ServerPair::Outcome ServerPair::run(const Group& group, const std::string& kubectl_folder) const {
  Outcome outcome;
  std::jthread other([&] { outcome.real = run_on(*servers_[1], group, kubectl_folder); });
  outcome.sandbox = run_on(*servers_[0], group, kubectl_folder);
  other.join();
  return outcome;
}

Run run_groups(const std::vector<const Group*>& groups, const std::string& kubectl_folder) {
  Run run;
  auto pair = ServerPair::start();
  if (!pair) {
    run.trouble = pair.error().message;
    return run;
  }
  std::mutex mutex;
  const auto run_one = [&](const Group& group) {
    auto outcome = (*pair)->run(group, kubectl_folder);
    const std::lock_guard lock(mutex);
    run.groups.emplace(group.name, std::move(outcome));
  };
  std::vector<const Group*> together;
  for (const auto* group : groups) {
    if (group->alone) {
      run_one(*group);
    } else {
      together.push_back(group);
    }
  }
  // They wait more than they compute.
  const auto workers = std::clamp<std::size_t>(std::thread::hardware_concurrency() * std::size_t{2}, 4, 12);
  std::atomic<std::size_t> next = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < std::min(workers, together.size()); ++i) {
      threads.emplace_back([&] {
        for (auto at = next++; at < together.size(); at = next++) run_one(*together[at]);
      });
    }
  }
  return run;
}

}  // namespace fleetadm::kubectl
