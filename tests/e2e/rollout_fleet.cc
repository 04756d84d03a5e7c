#include "tests/e2e/rollout_fleet.h"

#include <utility>

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kReplicaSetKind =
    "/apis/work.open-cluster-management.io/v1alpha1/namespaces/apps/manifestworkreplicasets";
constexpr std::string_view kRolloutWorks =
    "/apis/work.open-cluster-management.io/v1/manifestworks?labelSelector="
    "work.open-cluster-management.io%2Fmanifestworkreplicaset%3Dapps.";
constexpr std::string_view kPlacements = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/apps/placements";
constexpr std::string_view kPolicies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
constexpr std::string_view kPolicyBindings = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";

std::string cluster_name(int i) { return "c" + std::to_string(i); }

Status stored(const KubeServer::Answer& answer, const std::string& what) {
  if (answer.status >= 200 && answer.status < 300) return {};
  return fail(Category::kInvalid, what + ": " + std::to_string(answer.status) + " " + answer.body);
}

Status became(bool done, const std::string& what) { return done ? Status{} : Status(fail(Category::kTimeout, what)); }

}  // namespace

Result<std::unique_ptr<RolloutFleet>> RolloutFleet::start() {
  auto all = std::unique_ptr<RolloutFleet>(new RolloutFleet());
  FLEETADM_TRY(all->fleet_, Fleet::start(kSpokes, false));
  for (int i = 1; i <= kSpokes; ++i) FLEETADM_CHECK(all->fleet_->start_node(i));
  const Ran init = all->run({"init", "--context", "hub", "-o", "json"});
  if (init.code != 0) return fail(Category::kInvalid, "init: " + init.both());
  FLEETADM_CHECK(all->start_hub());
  FLEETADM_CHECK(all->join_spokes(init.json()));
  for (int i = 2; i <= kSpokes; ++i) FLEETADM_CHECK(all->refuse_by_name(i));
  FLEETADM_CHECK(all->place());
  return all;
}

Status RolloutFleet::must(const std::vector<std::string>& args) const {
  const Ran ran = run(args);
  return ran.code == 0 ? Status{} : Status(fail(Category::kInvalid, args.front() + ": " + ran.both()));
}

Status RolloutFleet::start_hub(int die_after) {
  controllers_.reset();
  sandbox::ChildSpec spec;
  spec.program = Fleet::binary();
  spec.args = {"hub", "run", "--kubeconfig", hub().kubeconfig_file_for(kHubUser, {"system:masters"}), "--leader-elect=false",
               "-v",  "3"};
  spec.environment = {"HOME=" + folder().path().string(), "PATH=/usr/bin:/bin"};
  if (die_after > 0) spec.environment.push_back("FLEETADM_EXIT_AFTER_WRITES=" + std::to_string(die_after));
  spec.output_file = (folder().path() / "hub.log").string();
  FLEETADM_TRY(auto child, sandbox::Child::start(spec));
  controllers_.emplace(std::move(child));
  return {};
}

Status RolloutFleet::join_spokes(const Json& ticket) {
  for (int i = 1; i <= kSpokes; ++i) {
    FLEETADM_CHECK(must({"join", "--context", cluster_name(i), "--cluster-name", cluster_name(i), "--hub-apiserver",
                         str(ticket, {"hub-apiserver"}), "--hub-token", str(ticket, {"hub-token"}), "--ca-cert-hash",
                         str(ticket, {"ca-cert-hash"})}));
  }
  for (int i = 1; i <= kSpokes; ++i) {
    const std::string path = std::string(kManagedClusters) + "/" + cluster_name(i);
    const auto there = [](const Json& cluster) { return !name_of(cluster).empty(); };
    FLEETADM_CHECK(became(hub().eventually(path, there, std::chrono::seconds(90)), cluster_name(i) + " did not register"));
  }
  FLEETADM_CHECK(must({"accept", "--context", "hub", "--all", "--yes", "--wait=available"}));
  const Json canary{{"metadata", {{"labels", {{"canary", "yes"}}}}}};
  return stored(hub().request("PATCH", std::string(kManagedClusters) + "/c1", dump_json(canary), "application/merge-patch+json"),
                "label");
}

Status RolloutFleet::refuse_by_name(int i) {
  const Json rules = Json::array(
      {{{"apiGroups", {""}}, {"apiVersions", {"v1"}}, {"operations", {"CREATE", "UPDATE"}}, {"resources", {"configmaps"}}}});
  const std::string expression =
      "!has(object.data) || !('v' in object.data) || !object.data['v'].contains('" + cluster_name(i) + "')";
  const Json policy{{"apiVersion", "admissionregistration.k8s.io/v1"},
                    {"kind", "ValidatingAdmissionPolicy"},
                    {"metadata", {{"name", "not-here"}}},
                    {"spec",
                     {{"failurePolicy", "Fail"},
                      {"matchConstraints", {{"resourceRules", rules}}},
                      {"validations", Json::array({{{"expression", expression}, {"message", "not on this cluster"}}})}}}};
  const Json binding{{"apiVersion", "admissionregistration.k8s.io/v1"},
                     {"kind", "ValidatingAdmissionPolicyBinding"},
                     {"metadata", {{"name", "not-here"}}},
                     {"spec", {{"policyName", "not-here"}, {"validationActions", {"Deny"}}}}};
  FLEETADM_CHECK(stored(spoke(i).create(kPolicies, policy), "policy"));
  FLEETADM_CHECK(stored(spoke(i).create(kPolicyBindings, binding), "binding"));
  const Json probe{
      {"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "probe"}}}, {"data", {{"v", cluster_name(i)}}}};
  const auto refused = [&] { return spoke(i).create("/api/v1/namespaces/default/configmaps?dryRun=All", probe).status == 422; };
  return became(eventually(refused, std::chrono::seconds(60)), "the policy of " + cluster_name(i) + " is not in force");
}

Status RolloutFleet::place() {
  const Json apps{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "apps"}}}};
  FLEETADM_CHECK(stored(hub().create("/api/v1/namespaces", apps), "namespace"));
  FLEETADM_CHECK(must({"clusterset", "bind", "global", "-n", "apps", "--context", "hub"}));
  const Json canary{{"groupName", "canary"},
                    {"groupClusterSelector", {{"labelSelector", {{"matchLabels", {{"canary", "yes"}}}}}}}};
  const Json placement{
      {"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
      {"kind", "Placement"},
      {"metadata", {{"name", "all"}, {"namespace", "apps"}}},
      {"spec",
       {{"clusterSets", {"global"}},
        {"tolerations", Json::array({{{"operator", "Exists"}}})},  // a machine under load must not deselect anything
        {"decisionStrategy", {{"groupStrategy", {{"decisionGroups", Json::array({canary})}}}}}}}};
  FLEETADM_CHECK(stored(hub().create(kPlacements, placement), "placement"));
  const auto settled = [](const Json& live) {
    const Json& groups = list_at(live, {"status", "decisionGroups"});
    return num(live, {"status", "numberOfSelectedClusters"}) == kSpokes && groups.size() == 2 &&
           str(groups.front(), {"decisionGroupName"}) == "canary" && num(groups.front(), {"clusterCount"}) == 1;
  };
  return became(hub().eventually(std::string(kPlacements) + "/all", settled), "the placement has not its two groups");
}

Ran RolloutFleet::rollout(std::vector<std::string> args) const {
  args.insert(args.begin(), "rollout");
  args.insert(args.end(), {"-n", "apps", "--context", "hub"});
  return run(args);
}

Status RolloutFleet::create_set(const std::string& name, const Json& manifest_work_template, const Json& progressive,
                                const std::string& placement) {
  const Json strategy{{"type", "Progressive"}, {"progressive", progressive}};
  const Json set{{"apiVersion", "work.open-cluster-management.io/v1alpha1"},
                 {"kind", "ManifestWorkReplicaSet"},
                 {"metadata", {{"name", name}, {"namespace", "apps"}}},
                 {"spec",
                  {{"placementRefs", Json::array({{{"name", placement}, {"rolloutStrategy", strategy}}})},
                   {"manifestWorkTemplate", manifest_work_template}}}};
  return stored(hub().create(kReplicaSetKind, set), "set " + name);
}

Status RolloutFleet::change(const std::string& set, const Json& patch) {
  return stored(
      hub().request("PATCH", std::string(kReplicaSetKind) + "/" + set, dump_json(patch), "application/merge-patch+json"),
      "set " + set);
}

std::vector<Json> RolloutFleet::works(const std::string& set) {
  const Json list = hub().get(std::string(kRolloutWorks) + set);
  const Json& items = list_at(list, {"items"});
  return {items.begin(), items.end()};
}

RolloutFleet::Names RolloutFleet::with(const std::string& set, const std::string& value) {
  Names names;
  for (const Json& work : works(set)) {
    if (value_of_work(work) == value) names.insert(namespace_of(work));
  }
  return names;
}

Json rollout_template(const std::string& name, const std::string& value, bool deployment) {
  Json manifests = Json::array({{{"apiVersion", "v1"},
                                 {"kind", "ConfigMap"},
                                 {"metadata", {{"name", name}, {"namespace", "default"}}},
                                 {"data", {{"v", value}}}}});
  if (!deployment) return {{"workload", {{"manifests", manifests}}}};
  const Json container{{"name", "web"}, {"image", "nginx:1.27"}, {"env", Json::array({{{"name", "V"}, {"value", value}}})}};
  manifests.push_back({{"apiVersion", "apps/v1"},
                       {"kind", "Deployment"},
                       {"metadata", {{"name", name}, {"namespace", "default"}}},
                       {"spec",
                        {{"replicas", 1},
                         {"selector", {{"matchLabels", {{"app", name}}}}},
                         {"template",
                          {{"metadata", {{"labels", {{"app", name}}}}},
                           {"spec", {{"terminationGracePeriodSeconds", 1}, {"containers", Json::array({container})}}}}}}}});
  const Json rule{
      {"condition", "Progressing"},
      {"type", "CEL"},
      {"celExpressions",
       {"!(has(object.status.observedGeneration) && object.status.observedGeneration == object.metadata.generation && "
        "has(object.status.updatedReplicas) && object.status.updatedReplicas == object.spec.replicas && "
        "has(object.status.availableReplicas) && object.status.availableReplicas == object.status.replicas && "
        "object.status.replicas == object.spec.replicas)"}}};
  const Json config{
      {"resourceIdentifier", {{"group", "apps"}, {"resource", "deployments"}, {"namespace", "default"}, {"name", name}}},
      {"conditionRules", Json::array({rule})}};
  return {{"workload", {{"manifests", manifests}}}, {"manifestConfigs", Json::array({config})}};
}

}  // namespace fleetadm::testkit
