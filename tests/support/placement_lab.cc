#include "tests/support/placement_lab.h"

#include <cstdlib>
#include <filesystem>
#include <map>

#include "core/api/kinds.h"
#include "core/install/install.h"
#include "core/placement/engine/decode.h"
#include "core/placement/hub/controller.h"
#include "kubeclient/config/kubeconfig.h"
#include "templates/templates.h"
#include "tests/support/fleet.h"

namespace fleetadm::testkit {
namespace {

constexpr int kThreads = 8;

const std::map<std::string, const kube::Resource*, std::less<>>& kinds() {
  static const std::map<std::string, const kube::Resource*, std::less<>> all{
      {"ManagedCluster", &api::managed_clusters()},
      {"ManagedClusterSet", &api::managed_cluster_sets()},
      {"ManagedClusterSetBinding", &api::managed_cluster_set_bindings()},
      {"Placement", &api::placements()},
      {"PlacementDecision", &api::placement_decisions()},
      {"AddOnPlacementScore", &api::addon_placement_scores()}};
  return all;
}

Result<const kube::Resource*> resource_of(std::string_view kind) {
  const auto at = kinds().find(kind);
  if (at == kinds().end()) return fail(Category::kUsage, std::string(kind) + " is no kind that schedulers read");
  return at->second;
}

}  // namespace

std::optional<std::string> upstream_placement() {
  const char* folder = std::getenv("FLEETADM_PEERS");
  if (folder == nullptr || *folder == '\0') return std::nullopt;
  const std::filesystem::path program = std::filesystem::path(folder) / "placement";
  if (!std::filesystem::exists(program)) return std::nullopt;
  return program.string();
}

Result<std::unique_ptr<PlacementLab>> PlacementLab::start() {
  auto lab = std::unique_ptr<PlacementLab>(new PlacementLab());
  FLEETADM_TRY(lab->server_, KubeServer::start({.name = "hub", .controller_manager = false}));
  FLEETADM_TRY(const auto kubeconfig, kube::Kubeconfig::from_text(lab->server_->kubeconfig()));
  FLEETADM_TRY(const auto config, kubeconfig.resolve({}));
  lab->client_ = kube::Client::connect(config);
  std::vector<Json> objects;
  for (const auto file : templates::list("crds/hub/")) {
    FLEETADM_TRY(auto rendered, templates::render(file, {}));
    for (Json& object : rendered) objects.push_back(std::move(object));
  }
  install::Options options;
  options.part = install::kHubPart;
  FLEETADM_TRY([[maybe_unused]] const auto changes, install::apply_all(*lab->client_, std::move(objects), options));
  return lab;
}

PlacementLab::~PlacementLab() { stop(); }

Status PlacementLab::run(Scheduler scheduler) {
  if (scheduler == Scheduler::kOurs) {
    FLEETADM_TRY(const auto kubeconfig, kube::Kubeconfig::from_text(server_->kubeconfig()));
    FLEETADM_TRY(const auto config, kubeconfig.resolve({}));
    controller::Manager::Options options;
    options.threads = kThreads;
    manager_ = std::make_unique<controller::Manager>(options);
    placement::add_placement_controller(*manager_, kube::Client::connect(config));
    thread_ = std::jthread([this](std::stop_token stop) { static_cast<void>(manager_->run(stop)); });
    return {};
  }
  if (scheduler == Scheduler::kOurHub) {
    return run_program(Fleet::binary(), {"hub", "run", "--kubeconfig", server_->kubeconfig_file()});
  }
  const auto program = upstream_placement();
  if (!program) return fail(Category::kNotFound, "FLEETADM_PEERS has no placement program");
  const std::string config = folder_.write(
      "placement.config.yaml",
      "apiVersion: operator.openshift.io/v1alpha1\nkind: GenericOperatorConfig\nservingInfo: {bindAddress: \"127.0.0.1:" +
          std::to_string(free_port()) + "\"}\n");
  return run_program(*program,
                     {"controller", "--kubeconfig=" + server_->kubeconfig_file_for("upstream-placement", {"system:masters"}),
                      "--config=" + config, "--namespace=open-cluster-management-hub", "--disable-leader-election",
                      "--kube-api-qps=1000", "--kube-api-burst=2000"});
}

Status PlacementLab::run_program(const std::string& program, std::vector<std::string> args) {
  sandbox::ChildSpec spec;
  spec.program = program;
  spec.args = std::move(args);
  spec.environment = {"HOME=" + folder_.path().string(), "PATH=/usr/bin:/bin", "POD_NAME=scheduler",
                      "POD_NAMESPACE=open-cluster-management-hub"};
  spec.output_file = (folder_.path() / "scheduler.log").string();
  FLEETADM_TRY(auto child, sandbox::Child::start(spec));
  process_ = std::move(child);
  return {};
}

void PlacementLab::stop() {
  if (process_) {
    process_->stop(std::chrono::seconds(10));
    process_.reset();
  }
  if (manager_) {
    thread_.request_stop();
    thread_.join();
    manager_.reset();
  }
}

std::string PlacementLab::log() const {
  const std::string all = read_file((folder_.path() / "scheduler.log").string());
  return all.size() > 3000 ? all.substr(all.size() - 3000) : all;
}

Status PlacementLab::need_namespace(std::string_view ns) {
  if (ns.empty() || namespaces_.contains(ns)) return {};
  const Json object{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", ns}}}};
  const auto answer = server_->create("/api/v1/namespaces", object);
  if (answer.status != 201 && answer.status != 409) {
    return fail(Category::kInternal, "cannot create namespace " + std::string(ns) + ": " + answer.body);
  }
  namespaces_.emplace(ns);
  return {};
}

Status PlacementLab::put(Json object) {
  FLEETADM_TRY(const kube::Resource* resource, resource_of(str(object, {"kind"})));
  object["apiVersion"] = resource->api_version();
  for (const char* member : {"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"})
    erase_at(object, {"metadata", member});
  const std::string ns = namespace_of(object);
  const std::string name = name_of(object);
  FLEETADM_CHECK(need_namespace(ns));
  Json status = object_at(object, {"status"});
  object.erase("status");
  FLEETADM_TRY([[maybe_unused]] const Json made, client_->create(*resource, ns, object));
  if (status.empty()) return {};
  return change(str(object, {"kind"}), ns, name, {{"status", std::move(status)}}, "status");
}

Status PlacementLab::change(std::string_view kind, std::string_view ns, std::string_view name, const Json& change,
                            std::string_view subresource) {
  FLEETADM_TRY(const kube::Resource* resource, resource_of(kind));
  kube::WriteOptions options;
  options.subresource = subresource;
  FLEETADM_TRY([[maybe_unused]] const Json changed,
               client_->patch(*resource, ns, name, kube::PatchType::kMerge, change, options));
  return {};
}

Status PlacementLab::clear() {
  // Placements go first: a scheduler must not write what is being removed again.
  for (const char* kind : {"Placement", "PlacementDecision", "AddOnPlacementScore", "ManagedClusterSetBinding"}) {
    const kube::Resource& resource = *kinds().find(kind)->second;
    for (int round = 0; round < 20; ++round) {
      FLEETADM_TRY(const Json left, client_->list(resource, {}));
      std::set<std::string> spaces;
      for (const Json& object : list_at(left, {"items"})) spaces.insert(namespace_of(object));
      if (spaces.empty()) break;
      for (const std::string& ns : spaces) {
        FLEETADM_TRY([[maybe_unused]] const Json gone, client_->remove_collection(resource, ns, {}));
      }
    }
  }
  for (const kube::Resource* resource : {&api::managed_clusters(), &api::managed_cluster_sets()}) {
    FLEETADM_TRY([[maybe_unused]] const Json gone, client_->remove_collection(*resource, {}, {}));
  }
  return {};
}

Result<Json> PlacementLab::outcome(std::string_view ns, std::string_view name) const {
  FLEETADM_TRY(const Json placement, client_->get(api::placements(), ns, name));
  FLEETADM_TRY(const Json list, client_->list(api::placement_decisions(), ns));
  std::map<std::string, Json> decisions;
  for (const Json& object : list_at(list, {"items"})) {
    std::string owner;
    for (const Json& one : list_at(object, {"metadata", "ownerReferences"}))
      owner += str(one, {"kind"}) + "/" + str(one, {"name"}) + " ";
    decisions[name_of(object)] = {{"name", name_of(object)},
                                  {"labels", object_at(object, {"metadata", "labels"})},
                                  {"owner", owner},
                                  {"clusters", placement::decode_decision(object).clusters}};
  }
  std::map<std::string, Json> conditions;
  for (const Json& one : list_at(placement, {"status", "conditions"})) {
    conditions[str(one, {"type"})] = {{"type", str(one, {"type"})},
                                      {"status", str(one, {"status"})},
                                      {"reason", str(one, {"reason"})},
                                      {"message", str(one, {"message"})}};
  }
  Json out{{"decisions", Json::array()},
           {"status",
            {{"numberOfSelectedClusters", num(placement, {"status", "numberOfSelectedClusters"})},
             {"decisionGroups", list_at(placement, {"status", "decisionGroups"})},
             {"conditions", Json::array()}}}};
  for (auto& [key, decision] : decisions) out["decisions"].push_back(std::move(decision));
  for (auto& [type, one] : conditions) out["status"]["conditions"].push_back(std::move(one));
  return out;
}

/// The status names just the decisions that are there. Otherwise a scheduler may have still to see what was removed.
static bool names_what_is_there(const Json& outcome) {
  std::set<std::string> named;
  for (const Json& group : list_at(outcome, {"status", "decisionGroups"})) {
    for (const Json& name : list_at(group, {"decisions"})) named.insert(name.get<std::string>());
  }
  std::set<std::string> there;
  for (const Json& decision : list_at(outcome, {"decisions"})) there.insert(str(decision, {"name"}));
  return named == there;
}

Result<Json> PlacementLab::settled(std::string_view ns, std::string_view name, Duration timeout, Duration quiet) const {
  using Steady = std::chrono::steady_clock;
  const auto until = Steady::now() + timeout;
  Json last;
  auto since = Steady::now();
  while (Steady::now() < until) {
    FLEETADM_TRY(Json now, outcome(ns, name));
    if (now != last) {
      last = std::move(now);
      since = Steady::now();
    } else if (list_at(last, {"status", "conditions"}).size() >= 2 &&
               Steady::now() - since >= (names_what_is_there(last) ? quiet : 5 * quiet)) {
      return last;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
  }
  return fail(Category::kTimeout, "the placement does not come to rest: " + dump_json(last));
}

}  // namespace fleetadm::testkit
