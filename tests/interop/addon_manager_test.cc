// Upstream's add-on manager and ours with the same objects: the same works, hashes, references, rights and conditions.
#include <gtest/gtest.h>

#include "tests/interop/addon_lab.h"
#include "tests/interop/addon_state.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kAddonPaths = "/apis/addon.open-cluster-management.io/v1beta1";

constexpr std::string_view kAgent = R"(apiVersion: apps/v1
kind: Deployment
metadata: {name: agent, namespace: default, labels: {app: agent}}
spec:
  replicas: 2
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      serviceAccountName: agent
      containers:
      - name: agent
        image: quay.io/org/agent:VERSION
        args: ["--cluster={{CLUSTER_NAME}}", "--level={{LEVEL}}", "--hub={{HUB_KUBECONFIG}}", "--nothing={{NOTHING}}"]
        env: [{name: CLUSTER_NAME, value: mine}]
        resources: {limits: {memory: 1.5Gi, cpu: 1000m}}
      - name: side
        image: registry.example.com/side
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: agent, namespace: default}
---
apiVersion: v1
kind: Namespace
metadata: {name: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: agent, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: agent, namespace: default}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default, annotations: {addon.open-cluster-management.io/deletion-orphan: ""}}
data: {level: "{{LEVEL}}", cluster: "{{CLUSTER_NAME}}", namespace: "{{INSTALL_NAMESPACE}}", big: "9007199254740993"}
)";

std::string agent_of(const std::string& version) {
  std::string text(kAgent);
  text.replace(text.find("VERSION"), 7, version);
  return text;
}

std::string declaration(const std::string& addon, const std::string& addon_template, const std::string& strategy = {},
                        const std::string& config = {}) {
  std::string text =
      "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ClusterManagementAddOn\nmetadata: {name: " + addon +
      "}\nspec:\n  supportedConfigs:\n  - {group: addon.open-cluster-management.io, resource: addontemplates, " +
      "defaultConfig: {name: " + addon_template +
      "}}\n  - {group: addon.open-cluster-management.io, resource: " + "addondeploymentconfigs";
  if (!config.empty()) text += ", defaultConfig: {name: " + config + ", namespace: apps}";
  text += "}\n";
  if (!strategy.empty()) text += "  installStrategy: " + strategy + "\n";
  return text;
}

std::string config(const std::string& name, const std::string& spec) {
  return "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: AddOnDeploymentConfig\nmetadata: {name: " + name +
         ", namespace: apps}\nspec: " + spec + "\n";
}

std::string installed(const std::string& addon, const std::string& cluster) {
  return "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ManagedClusterAddOn\nmetadata: {name: " + addon +
         ", namespace: " + cluster + "}\nspec: {}\n";
}

std::string path_in(const std::string& cluster, const std::string& addon) {
  return std::string(kAddonPaths) + "/namespaces/" + cluster + "/managedclusteraddons/" + addon;
}

#define MUST_BE_THE_SAME(...)                                   \
  do {                                                          \
    const std::string differs = lab()->difference(__VA_ARGS__); \
    ASSERT_TRUE(differs.empty()) << differs;                    \
  } while (false)
#define MUST(expression)                       \
  do {                                         \
    const Status done = (expression);          \
    ASSERT_TRUE(done) << done.error().message; \
  } while (false)

class AddonManagers : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs() || !peers_folder({"addon"})) return;
    auto started = AddonLab::start();
    ASSERT_TRUE(started) << started.error().message;
    lab() = std::move(*started);
  }
  static void TearDownTestSuite() { lab().reset(); }
  void SetUp() override {
    FLEETADM_NEEDS_KUBE_SERVERS();
    if (!peers_folder({"addon"})) GTEST_SKIP() << "FLEETADM_PEERS names no folder with upstream's programs";
    if (!lab()) GTEST_FAIL() << "the hubs did not start";
  }
  void TearDown() override {
    if (HasFailure() && lab()) GTEST_LOG_(INFO) << lab()->logs();
  }
  static std::unique_ptr<AddonLab>& lab() {
    static std::unique_ptr<AddonLab> the_lab;
    return the_lab;
  }
};

TEST_F(AddonManagers, RenderConfigureAndRemoveAnAddOnThatWasEnabledByHand) {
  const std::string permission =
      "[{type: KubeClient, kubeClient: {hubPermissions: [{type: CurrentCluster, currentCluster: {clusterRoleName: view}}]}}]";
  MUST(lab()->create(addon_template("manual-v1", "manual", agent_of("v1"), permission)));
  MUST(lab()->create(config("manual-base", R"({agentInstallNamespace: manual-agents,
    customizedVariables: [{name: LEVEL, value: info}, {name: CLUSTER_NAME, value: other}],
    nodePlacement: {nodeSelector: {zone: a}, tolerations: [{key: dedicated, operator: Exists, effect: NoSchedule}]},
    registries: [{source: quay.io/org, mirror: mirror.example.com/org}],
    proxyConfig: {httpsProxy: "http://egress.example.com:8080", noProxy: ".local", caBundle: "aGVsbG8="},
    resourceRequirements: [{containerID: "deployments:agent:agent", resources: {requests: {cpu: 10m}}}]})")));
  MUST(lab()->create(declaration("manual", "manual-v1", {}, "manual-base")));
  MUST(lab()->create(installed("manual", "c1")));
  MUST_BE_THE_SAME("manual", "completed with no errors.");
  MUST_BE_THE_SAME("manual", "manual add-on is available.");

  // Its own configuration on one cluster.
  MUST(lab()->create(
      config("manual-own", "{agentInstallNamespace: elsewhere, customizedVariables: [{name: LEVEL, value: debug}]}")));
  MUST(lab()->patch(path_in("c1", "manual"),
                    "{spec: {configs: [{group: addon.open-cluster-management.io, resource: addondeploymentconfigs, "
                    "namespace: apps, name: manual-own}]}}"));
  MUST_BE_THE_SAME("manual", "--level=debug");
  MUST_BE_THE_SAME("manual", "completed with no errors.");

  // A template that is edited in place, and one of another name.
  MUST(lab()->patch(std::string(kAddonPaths) + "/addontemplates/manual-v1",
                    "{spec: {agentSpec: {workload: {manifests: [{apiVersion: v1, kind: ConfigMap, "
                    "metadata: {name: settings, namespace: default}, data: {edited: \"{{CLUSTER_NAME}}\"}}]}}}}"));
  MUST_BE_THE_SAME("manual", "\"edited\": \"c1\"");
  MUST_BE_THE_SAME("manual", "completed with no errors.");

  MUST(lab()->remove(path_in("c1", "manual")));
  MUST_BE_THE_SAME("manual", "declaration");
  EXPECT_EQ(addon_state(lab()->ours(), "manual").find("work c1"), std::string::npos);
}

TEST_F(AddonManagers, InstallByPlacementsAndUpgradeStepByStep) {
  MUST(lab()->create(addon_template("placed-v1", "placed", agent_of("v1"))));
  MUST(lab()->create(addon_template("placed-v2", "placed", agent_of("v2"))));
  MUST(lab()->create(config("placed-base", "{agentInstallNamespace: placed-agents}")));
  MUST(lab()->create(config("placed-far", "{agentInstallNamespace: far-agents}")));
  MUST(lab()->decide("near", "c1 c2"));
  MUST(lab()->decide("far", "c3"));
  MUST(lab()->create(declaration("placed", "placed-v1", R"({type: Placements, placements: [
    {name: near, namespace: apps, rolloutStrategy: {type: Progressive, progressive: {maxConcurrency: 1}}},
    {name: far, namespace: apps, rolloutStrategy: {type: All}, configs: [{group: addon.open-cluster-management.io,
     resource: addondeploymentconfigs, name: placed-far, namespace: apps}]}]})",
                                 "placed-base")));
  MUST_BE_THE_SAME("placed", "selected clusters 2. configured addons 2/2 completed with no errors, 0 failed 0 timeout.");
  MUST_BE_THE_SAME("placed", "selected clusters 1. configured addons 1/1 completed with no errors, 0 failed 0 timeout.");

  // No cluster reports: the first one is on its way, the second one waits.
  MUST(lab()->patch(
      std::string(kAddonPaths) + "/clustermanagementaddons/placed",
      "{spec: {defaultConfigs: [{group: addon.open-cluster-management.io, resource: addontemplates, name: placed-v2}, "
      "{group: addon.open-cluster-management.io, resource: addondeploymentconfigs, name: placed-base, "
      "namespace: apps}]}}"));
  MUST_BE_THE_SAME("placed", "Configurations updated and not configured yet", false);
  MUST_BE_THE_SAME("placed", "selected clusters 2. configured addons 1/2 progressing..., 0 failed 0 timeout.", false);
  MUST_BE_THE_SAME("placed", "selected clusters 2. configured addons 2/2 completed with no errors, 0 failed 0 timeout.");

  // The clusters change.
  MUST(lab()->decide("near", "c2 c4"));
  MUST_BE_THE_SAME("placed", "work c4/addon-placed-deploy-0");
  MUST_BE_THE_SAME("placed", "selected clusters 2. configured addons 2/2 completed with no errors, 0 failed 0 timeout.");
  EXPECT_EQ(addon_state(lab()->ours(), "placed").find("addon c1"), std::string::npos);

  MUST(lab()->remove(std::string(kAddonPaths) + "/clustermanagementaddons/placed"));
  const auto gone = [&] {
    return addon_state(lab()->ours(), "placed") == "{}" && addon_state(lab()->theirs(), "placed") == "{}";
  };
  EXPECT_TRUE(eventually(gone, std::chrono::seconds(60))) << addon_state(lab()->ours(), "placed");
}

TEST_F(AddonManagers, AHookRunsBeforeTheAddOnGoes) {
  const std::string hook = R"(---
apiVersion: batch/v1
kind: Job
metadata: {name: bye, namespace: default, annotations: {addon.open-cluster-management.io/addon-pre-delete: ""}}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: bye, image: example.com/bye:1}]}
)";
  MUST(lab()->create(addon_template("hooked-v1", "hooked", agent_of("v1") + hook)));
  MUST(lab()->create(declaration("hooked", "hooked-v1")));
  MUST(lab()->create(installed("hooked", "c1")));
  MUST_BE_THE_SAME("hooked", "completed with no errors.");
  MUST(lab()->remove(path_in("c1", "hooked")));
  MUST_BE_THE_SAME("hooked", "hook manifestWork addon-hooked-pre-delete is not completed.", false);
  MUST_BE_THE_SAME("hooked", "declaration");
  const auto gone = [&] {
    lab()->report("hooked");
    return lab()->ours().get(path_in("c1", "hooked")).is_null() && lab()->theirs().get(path_in("c1", "hooked")).is_null();
  };
  EXPECT_TRUE(eventually(gone, std::chrono::seconds(60))) << addon_state(lab()->ours(), "hooked");
  MUST_BE_THE_SAME("hooked", "declaration");
}

TEST_F(AddonManagers, RegisterByTokenAndForASignerOfTheirOwn) {
  const std::string registration =
      "[{type: KubeClient, kubeClient: {hubPermissions: [{type: CurrentCluster, currentCluster: {clusterRoleName: view}}]}}, "
      "{type: CustomSigner, customSigner: {signerName: example.com/signed, subject: {user: signed, groups: [g1]}, "
      "signingCA: {name: ca}}}]";
  MUST(lab()->create(addon_template("tokens-v1", "tokens", agent_of("v1"), registration)));
  MUST(lab()->create(declaration("tokens", "tokens-v1")));
  MUST(lab()->create(installed("tokens", "c1")));
  MUST_BE_THE_SAME("tokens", "completed with no errors.");
  MUST_BE_THE_SAME("tokens", "Registration of the addon agent is configured");
  for (KubeServer* hub : {&lab()->ours(), &lab()->theirs()}) {
    const Json addon = hub->get(path_in("c1", "tokens"));
    Json registrations = list_at(addon, {"status", "registrations"});
    ASSERT_FALSE(registrations.empty());
    registrations[0]["kubeClient"]["driver"] = "token";
    // As the cluster's agent does, which names itself.
    registrations[0]["kubeClient"]["subject"] = {{"user", "system:serviceaccount:c1:tokens-agent"}};
    const auto reported =
        hub->request("PATCH", path_in("c1", "tokens") + "/status",
                     dump_json(Json{{"status", {{"registrations", registrations}}}}), "application/merge-patch+json");
    ASSERT_EQ(reported.status, 200) << reported.body;
  }
  MUST_BE_THE_SAME("tokens", "ServiceAccount c1/tokens-agent (UID: <uid>) is ready");
  MUST(lab()->remove(path_in("c1", "tokens")));
  MUST_BE_THE_SAME("tokens", "declaration");
  EXPECT_EQ(addon_state(lab()->ours(), "tokens").find("account c1"), std::string::npos);
}

TEST_F(AddonManagers, LeaveAnAddOnThatManagesItselfAlone) {
  std::string own = declaration("own", "own-v1", R"({type: Placements, placements: [{name: own, namespace: apps}]})", "own-base");
  own.replace(own.find("metadata: {"), 11, "metadata: {annotations: {addon.open-cluster-management.io/lifecycle: self}, ");
  MUST(lab()->create(addon_template("own-v1", "own", agent_of("v1"))));
  MUST(lab()->create(config("own-base", "{agentInstallNamespace: own-agents}")));
  MUST(lab()->decide("own", "c1"));
  MUST(lab()->create(own));
  MUST(lab()->create(installed("own", "c2")));
  MUST_BE_THE_SAME("own", "\"addon.open-cluster-management.io/lifecycle\": \"\"");
  MUST_BE_THE_SAME("own", "defaultConfigReferences");
  EXPECT_EQ(addon_state(lab()->ours(), "own").find("addon c1"), std::string::npos);

  // Without a template.
  std::string bare =
      "apiVersion: addon.open-cluster-management.io/v1beta1\nkind: ClusterManagementAddOn\nmetadata: {name: bare, "
      "annotations: {addon.open-cluster-management.io/lifecycle: self}}\nspec: {defaultConfigs: [{group: "
      "addon.open-cluster-management.io, resource: addondeploymentconfigs, name: own-base, namespace: apps}]}\n";
  MUST(lab()->create(bare));
  MUST(lab()->create(installed("bare", "c2")));
  MUST_BE_THE_SAME("bare", "defaultConfigReferences");
}

TEST_F(AddonManagers, TakeAnnotationsFromTheCluster) {
  const std::string agents = R"(apiVersion: apps/v1
kind: DaemonSet
metadata: {name: nodes, namespace: from-template}
spec:
  selector: {matchLabels: {app: nodes}}
  template:
    metadata: {labels: {app: nodes}}
    spec: {containers: [{name: c, image: quay.io/org/nodes, resources: {limits: {cpu: 2000m}}}]}
)";
  MUST(lab()->create(addon_template("given-v1", "given", agents, "[{type: KubeClient}]")));
  MUST(lab()->decide("given", "c4"));
  MUST(lab()->create(declaration("given", "given-v1", "{type: Placements, placements: [{name: given, namespace: apps}]}")));
  MUST_BE_THE_SAME("given", "completed with no errors.");
  // Only what happens to the cluster makes upstream look at its annotations.
  MUST(lab()->patch("/apis/cluster.open-cluster-management.io/v1/managedclusters/c4",
                    R"({metadata: {annotations: {addon.open-cluster-management.io/hello: there, other.example.com/a: b,
    open-cluster-management.io/image-registries: '{"registries": [{"source": "quay.io/org", "mirror": "mirror.example.com"}]}'}}})"));
  MUST_BE_THE_SAME("given", "mirror.example.com/nodes");
  MUST_BE_THE_SAME("given", "\"addon.open-cluster-management.io/hello\": \"there\"");
  MUST_BE_THE_SAME("given", "selected clusters 1. configured addons 1/1 completed with no errors, 0 failed 0 timeout.");

  MUST(lab()->patch("/apis/cluster.open-cluster-management.io/v1/managedclusters/c4",
                    "{metadata: {annotations: {addon.open-cluster-management.io/hello: again}}}"));
  MUST_BE_THE_SAME("given", "\"addon.open-cluster-management.io/hello\": \"again\"");

  // By hand from now on.
  MUST(lab()->patch(std::string(kAddonPaths) + "/clustermanagementaddons/given",
                    "{spec: {installStrategy: {type: Manual, placements: null}}}"));
  MUST_BE_THE_SAME("given", "completed with no errors.");
  EXPECT_EQ(addon_state(lab()->ours(), "given").find("installProgressions"), std::string::npos);
  EXPECT_NE(addon_state(lab()->ours(), "given").find("addon c4"), std::string::npos);
}

TEST_F(AddonManagers, RollOutGroupByGroupAndStopAtAFailure) {
  MUST(lab()->create(addon_template("groups-v1", "groups", agent_of("v1"))));
  MUST(lab()->create(addon_template("groups-v2", "groups", agent_of("v2"))));
  MUST(lab()->decide("groups", "c1 c2 c3"));
  MUST(lab()->create(declaration("groups", "groups-v1", R"({type: Placements, placements: [{name: groups, namespace: apps,
    rolloutStrategy: {type: Progressive, progressive: {maxConcurrency: 1, progressDeadline: 3s, maxFailures: 0}}}]})")));
  MUST_BE_THE_SAME("groups", "selected clusters 3. configured addons 3/3 completed with no errors, 0 failed 0 timeout.");
  // Nobody reports on the new version: the first cluster times out, and no other one begins.
  MUST(lab()->patch(
      std::string(kAddonPaths) + "/clustermanagementaddons/groups",
      "{spec: {defaultConfigs: [{group: addon.open-cluster-management.io, resource: addontemplates, name: groups-v2}]}}"));
  MUST_BE_THE_SAME("groups", "0 failed 1 timeout.", false);
  // Once it works after all, the others follow.
  MUST_BE_THE_SAME("groups", "selected clusters 3. configured addons 3/3 completed with no errors, 0 failed 0 timeout.");
}

TEST_F(AddonManagers, TroubleIsToldAlike) {
  MUST(lab()->create(addon_template("trouble-v1", "trouble", agent_of("v1"))));
  MUST(lab()->create(declaration("trouble", "trouble-v1")));
  MUST(lab()->create(installed("trouble", "c1")));
  MUST_BE_THE_SAME("trouble", "completed with no errors.");
  const auto say = [](const char* type, const char* status, const char* message) {
    lab()->report("trouble", [&](Json& report) {
      for (Json& condition : report["conditions"]) {
        if (str(condition, {"type"}) != type) continue;
        condition["status"] = status;
        condition["message"] = message;
      }
    });
  };
  say("Available", "False", "one of them is not there");
  MUST_BE_THE_SAME("trouble", "one of them is not there", false);
  say("Available", "Unknown", "nobody knows");
  MUST_BE_THE_SAME("trouble", "trouble add-on is available.", false);
  say("Applied", "False", "refused");
  MUST_BE_THE_SAME("trouble", "failed to apply the manifests of addon", false);
  const auto feed = [](const Json& values) {
    lab()->report("trouble",
                  [&](Json& report) { report["resourceStatus"]["manifests"][0]["statusFeedback"]["values"] = values; });
  };
  const auto number = [](const char* name, int value) {
    return Json{{"name", name}, {"fieldValue", {{"type", "Integer"}, {"integer", value}}}};
  };
  feed(Json::array({number("ReadyReplicas", 0), number("Replicas", 2)}));
  MUST_BE_THE_SAME("trouble", "Probe addon unavailable with err desiredNumberReplicas is 2 but readyReplica is 0", false);
  feed(Json::array({number("Replicas", 2)}));
  MUST_BE_THE_SAME("trouble", "readyReplica is not probed", false);
  feed(Json::array());
  MUST_BE_THE_SAME("trouble", "Probe results are not returned", false);

  MUST(lab()->patch(path_in("c1", "trouble"),
                    "{spec: {configs: [{group: example.com, resource: widgets, namespace: apps, name: w}]}}"));
  // Upstream rolls it out all the same, with an empty hash.
  EXPECT_TRUE(lab()->both_tell("trouble", "Configuration with gvr example.com/widgets is not supported for this addon"));
}

TEST_F(AddonManagers, ManyManifestsAreSpreadOverWorksAlike) {
  std::string manifests;
  for (int i = 0; i < 7; ++i) {
    manifests += std::string(i == 0 ? "" : "---\n") + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: big" +
                 std::to_string(i) + ", namespace: default}\ndata: {v: \"" +
                 std::string(static_cast<std::size_t>(40 + 20 * i) * 1024, 'x') + "\"}\n";
  }
  MUST(lab()->create(addon_template("many-v1", "many", manifests)));
  MUST(lab()->create(declaration("many", "many-v1")));
  MUST(lab()->create(installed("many", "c1")));
  MUST_BE_THE_SAME("many", "work c1/addon-many-deploy-1");
  MUST_BE_THE_SAME("many", "completed with no errors.");
}

/// The last one: from here on there is no manager of upstream's.
TEST_F(AddonManagers, Z_OurHubTakesOverWithoutTouchingWhatIsDeployed) {
  const Json before = lab()->theirs().get("/apis/work.open-cluster-management.io/v1/manifestworks");
  ASSERT_GE(list_at(before, {"items"}).size(), 5U);
  MUST(lab()->take_over());
  // It is at work once it has deployed something new.
  MUST(lab()->decide("groups", "c1 c2 c3 c4"));
  MUST_BE_THE_SAME("groups", "work c4/addon-groups-deploy-0");
  MUST_BE_THE_SAME("groups", "selected clusters 4. configured addons 4/4 completed with no errors, 0 failed 0 timeout.");
  for (const Json& work : list_at(before, {"items"})) {
    const Json now = lab()->theirs().get("/apis/work.open-cluster-management.io/v1/namespaces/" + namespace_of(work) +
                                         "/manifestworks/" + name_of(work));
    EXPECT_EQ(num(now, {"metadata", "generation"}), num(work, {"metadata", "generation"}))
        << namespace_of(work) << " " << name_of(work);
    EXPECT_EQ(object_at(now, {"metadata", "annotations"}), object_at(work, {"metadata", "annotations"}));
    EXPECT_EQ(object_at(now, {"metadata", "labels"}), object_at(work, {"metadata", "labels"}));
    EXPECT_EQ(uid_of(now), uid_of(work)) << namespace_of(work) << " " << name_of(work);
  }
}

}  // namespace
}  // namespace fleetadm::testkit
