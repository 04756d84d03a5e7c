#include "tests/e2e/addon_upgrade_fleet.h"

#include <algorithm>

#include "kubeclient/config/kubeconfig.h"
#include "tests/support/work_agents.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kUpgradeApi = "/apis/addon.open-cluster-management.io/v1alpha1";
constexpr const char* kUpgradeApiVersion = "addon.open-cluster-management.io/v1alpha1";

std::string declaration_path(const std::string& addon) { return std::string(kUpgradeApi) + "/clustermanagementaddons/" + addon; }

Json cluster_on(const std::string& name, bool canary, const char* cloud) {
  Json cluster{{"apiVersion", "cluster.open-cluster-management.io/v1"},
               {"kind", "ManagedCluster"},
               {"metadata", {{"name", name}, {"labels", {{"cloud", cloud}}}}},
               {"spec", {{"hubAcceptsClient", true}}}};
  if (canary) cluster["metadata"]["labels"]["canary"] = "";
  return cluster;
}

/// As the seeds have it: the canaries are a group of their own, the others in groups of a size.
Json grouped_placement(const std::string& name, const Json& labels) {
  const Json canary{{"groupName", "canary"},
                    {"groupClusterSelector",
                     {{"labelSelector", {{"matchExpressions", Json::array({{{"key", "canary"}, {"operator", "Exists"}}})}}}}}};
  Json placement{{"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
                 {"kind", "Placement"},
                 {"metadata", {{"name", name}, {"namespace", "default"}}},
                 {"spec",
                  {{"clusterSets", {"global"}},
                   {"tolerations", Json::array({{{"operator", "Exists"}}})},
                   {"decisionStrategy",
                    {{"groupStrategy", {{"clustersPerDecisionGroup", 2}, {"decisionGroups", Json::array({canary})}}}}}}}};
  if (!labels.empty()) {
    placement["spec"]["predicates"] =
        Json::array({{{"requiredClusterSelector", {{"labelSelector", {{"matchLabels", labels}}}}}}});
  }
  return placement;
}

}  // namespace

void AddonUpgradeFleet::must_create(const std::string& path, const Json& object) {
  const KubeServer::Answer answer = hub().create(path, object);
  ASSERT_EQ(answer.status, 201) << answer.body;
}

void AddonUpgradeFleet::SetUpTestSuite() {
  if (!KubeServer::programs()) return;
  ASSERT_NO_FATAL_FAILURE(begin(0, false));
  const Ran init = run({"init", "--context", "hub", "-o", "json"});
  ASSERT_EQ(init.code, 0) << init.both();
  ASSERT_NO_FATAL_FAILURE(add_deep_template());
  ASSERT_NO_FATAL_FAILURE(start_controllers_with_own_rights());
  for (const char* name : {"c1", "c2", "c3", "c4", "c5", "c6"}) {
    ASSERT_NO_FATAL_FAILURE(must_create(std::string(kManagedClusters),
                                        cluster_on(name, kCanary.contains(name), kOdd.contains(name) ? "aws" : "gcp")));
  }
  const auto bound = [] { return run({"clusterset", "bind", "global", "-n", "default", "--context", "hub"}).code == 0; };
  ASSERT_TRUE(eventually(bound)) << "the hub makes the set";
  const std::string placements = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/default/placements";
  ASSERT_NO_FATAL_FAILURE(must_create(placements, grouped_placement("all-placement", Json::object())));
  for (const char* cloud : {"aws", "gcp"}) {
    ASSERT_NO_FATAL_FAILURE(must_create(placements, grouped_placement(std::string(cloud) + "-placement", {{"cloud", cloud}})));
  }
  for (const char* name : {"all-placement", "aws-placement", "gcp-placement"}) {
    const std::size_t groups = std::string_view(name).starts_with("all") ? 3 : 2;
    ASSERT_TRUE(hub().eventually(placements + "/" + name, [&](const Json& live) {
      return list_at(live, {"status", "decisionGroups"}).size() == groups;
    })) << hub().get(placements + "/" + name);
  }
}

void AddonUpgradeFleet::SetUp() {
  FleetTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  agents_ = kube::Client::connect(*kube::Kubeconfig::from_text(hub().kubeconfig())->resolve({}));
}

void AddonUpgradeFleet::add_deep_template() {
  constexpr int kLevels = 2'000;
  std::string nested = "1";
  for (int i = 0; i < kLevels; ++i) nested = "[" + nested + "]";
  const std::string object =
      R"({"apiVersion":"addon.open-cluster-management.io/v1alpha1","kind":"AddOnTemplate","metadata":{"name":"deep"},)"
      R"("spec":{"addonName":"deep","agentSpec":{"workload":{"manifests":[)"
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"deep","namespace":"default"},"nested":)" +
      nested + "}]}}}}";
  const KubeServer::Answer answer = hub().request("POST", std::string(kUpgradeApi) + "/addontemplates", object);
  // The sandbox does not store what its own programs cannot read.
  EXPECT_EQ(answer.status, KubeServer::on_sandbox() ? 400 : 201) << answer.body;
}

Json AddonUpgradeFleet::strategy(const char* kind, const char* body_name, Json body) {
  Json made{{"type", kind}};
  if (*body_name != '\0') made[body_name] = std::move(body);
  return made;
}

Json AddonUpgradeFleet::placed(const std::string& placement, Json strategy, Json configs) {
  Json entry{{"namespace", "default"}, {"name", placement}, {"rolloutStrategy", std::move(strategy)}};
  if (!configs.empty()) entry["configs"] = std::move(configs);
  return entry;
}

void AddonUpgradeFleet::add_template(const std::string& addon, const std::string& revision) {
  const std::string agent = addon + "-agent";
  const Json of_agents{{"name", agent}, {"namespace", "open-cluster-management-agent-addon"}};
  const Json labels{{"app", agent}};
  const Json container{{"name", "agent"},
                       {"image", "example.com/" + addon + ":" + revision},
                       {"args", Json::array({"--cluster={{CLUSTER_NAME}}", "--cloud={{CLOUD}}"})}};
  const Json pods{{"metadata", {{"labels", labels}}},
                  {"spec", {{"serviceAccountName", agent}, {"containers", Json::array({container})}}}};
  const Json deployment{{"apiVersion", "apps/v1"},
                        {"kind", "Deployment"},
                        {"metadata", of_agents},
                        {"spec", {{"replicas", 1}, {"selector", {{"matchLabels", labels}}}, {"template", pods}}}};
  const Json account{{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", of_agents}};
  const Json binding{
      {"apiVersion", "rbac.authorization.k8s.io/v1"},
      {"kind", "ClusterRoleBinding"},
      {"metadata", {{"name", agent}}},
      {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", "view"}}},
      {"subjects",
       Json::array({{{"kind", "ServiceAccount"}, {"name", agent}, {"namespace", "open-cluster-management-agent-addon"}}})}};
  const Json registration{{"type", "KubeClient"}, {"kubeClient", Json::object()}};
  must_create(std::string(kUpgradeApi) + "/addontemplates",
              {{"apiVersion", kUpgradeApiVersion},
               {"kind", "AddOnTemplate"},
               {"metadata", {{"name", addon + "-" + revision}}},
               {"spec",
                {{"addonName", addon},
                 {"agentSpec", {{"workload", {{"manifests", Json::array({deployment, account, binding})}}}}},
                 {"registration", Json::array({registration})}}}});
}

Json AddonUpgradeFleet::declared(const std::string& addon, const std::string& revision, const Json& placements) {
  const Json templates{{"group", "addon.open-cluster-management.io"},
                       {"resource", "addontemplates"},
                       {"defaultConfig", {{"name", addon + "-" + revision}}}};
  const Json configs{{"group", "addon.open-cluster-management.io"}, {"resource", "addondeploymentconfigs"}};
  return {{"addOnMeta", {{"displayName", addon}}},
          {"supportedConfigs", Json::array({templates, configs})},
          {"installStrategy", {{"type", "Placements"}, {"placements", placements}}}};
}

void AddonUpgradeFleet::install(const std::string& addon, const Json& placements) {
  ASSERT_NO_FATAL_FAILURE(add_template(addon, "1"));
  ASSERT_NO_FATAL_FAILURE(add_template(addon, "2"));
  since_ = hub().audit_position();
  const Json declaration{
      {"apiVersion", kUpgradeApiVersion},
      {"kind", "ClusterManagementAddOn"},
      {"metadata", {{"name", addon}, {"annotations", {{"addon.open-cluster-management.io/lifecycle", "addon-manager"}}}}},
      {"spec", declared(addon, "1", placements)}};
  const auto created = [&] {
    return hub().create(std::string(kUpgradeApi) + "/clustermanagementaddons", declaration).status == 201;
  };
  ASSERT_TRUE(eventually(created)) << "once the API server knows where the hub converts versions";
  ASSERT_TRUE(played_until([&] { return through(addon, addon + "-1").size() == 6; })) << state(addon);
}

void AddonUpgradeFleet::change(const std::string& addon, const Json& spec) {
  since_ = hub().audit_position();
  patch(declaration_path(addon), {{"spec", spec}});
}

void AddonUpgradeFleet::patch(std::string_view path, const Json& merge) {
  const KubeServer::Answer answer = hub().request("PATCH", path, dump_json(merge), "application/merge-patch+json");
  ASSERT_EQ(answer.status, 200) << answer.body;
}

bool AddonUpgradeFleet::played_until(const std::function<bool()>& done, Duration timeout) {
  return eventually(
      [&] {
        report_addon_works(*agents_, [&](const std::string& cluster) { return !broken_.contains(cluster); });
        return done();
      },
      timeout);
}

AddonUpgradeFleet::Clusters AddonUpgradeFleet::having(const std::string& addon, const std::string& wanted, bool applied) {
  Clusters found;
  const Json addons = hub().get(std::string(kUpgradeApi) + "/managedclusteraddons");
  for (const Json& one : list_at(addons, {"items"})) {
    if (name_of(one) != addon) continue;
    bool has = false;
    bool all_applied = true;
    for (const Json& reference : list_at(one, {"status", "configReferences"})) {
      const Json& desired = object_at(reference, {"desiredConfig"});
      has = has || str(desired, {"name"}) == wanted || str(desired, {"specHash"}) == wanted;
      all_applied = all_applied && desired == object_at(reference, {"lastAppliedConfig"});
    }
    if (has && (all_applied || !applied)) found.insert(namespace_of(one));
  }
  return found;
}

Json AddonUpgradeFleet::declaration(const std::string& addon) { return hub().get(declaration_path(addon)); }

std::string AddonUpgradeFleet::progress(const std::string& addon, std::size_t index) {
  const Json now = declaration(addon);
  const Json& progressions = list_at(now, {"status", "installProgressions"});
  if (progressions.size() <= index || list_at(progressions[index], {"conditions"}).empty()) return {};
  return str(progressions[index]["conditions"][0], {"message"});
}

AddonCourse AddonUpgradeFleet::course(const AddonLimits& limits) const { return addon_course(hub().audit_since(since_), limits); }

std::string AddonUpgradeFleet::state(const std::string& addon) {
  return dump_json_pretty(declaration(addon)) + run({"rollout", "status", "addon/" + addon, "--context", "hub"}).both() +
         dump_json_pretty(hub().get(std::string(kUpgradeApi) + "/managedclusteraddons")) +
         read_file((fleet()->folder().path() / "hub.log").string());
}

}  // namespace fleetadm::testkit
