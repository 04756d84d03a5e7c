// An add-on on a real API server, the hub as a process with its own account's rights: installed by a placement, configured and
// upgraded step by step. The clusters and the deployment of the agents are played here.
#include <gtest/gtest.h>
#include <set>

#include "core/addon/rules/config_reference.h"
#include "core/addon/rules/names.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "kubeclient/config/kubeconfig.h"
#include "tests/support/fleet_test.h"
#include "tests/support/replica_sets.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kDecl = "/apis/addon.open-cluster-management.io/v1beta1/clustermanagementaddons";
constexpr std::string_view kConfigs = "/apis/addon.open-cluster-management.io/v1beta1/namespaces/apps/addondeploymentconfigs";
constexpr std::string_view kInstalled = "/apis/addon.open-cluster-management.io/v1beta1/managedclusteraddons";
constexpr std::string_view kDeployed = "/apis/work.open-cluster-management.io/v1/manifestworks";
constexpr const char* kHash = "addondeploymentconfigs.addon.open-cluster-management.io/apps/base";

class AddonRolloutOnAServer : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(0, false));
  }

  static KubeServer& hub() { return fleet()->hub(); }
  static void must_create(std::string_view path, const Json& object) {
    const KubeServer::Answer answer = hub().create(path, object);
    ASSERT_EQ(answer.status, 201) << answer.body;
  }
  static kube::Client client() { return kube::Client::connect(*kube::Kubeconfig::from_text(hub().kubeconfig())->resolve({})); }
  static Json declaration() { return hub().get(std::string(kDecl) + "/hello"); }
  static std::string progress() {
    const Json object = declaration();
    const Json& progressions = list_at(object, {"status", "installProgressions"});
    if (progressions.empty() || list_at(progressions[0], {"conditions"}).empty()) return {};
    return str(progressions[0]["conditions"][0], {"message"});
  }

  /// Deploys what each add-on was configured with, and reports it; how many of them were on the way.
  static int deploy(const kube::Client& as_admin) {
    int on_the_way = 0;
    const Json addons = hub().get(kInstalled);
    for (const Json& one : list_at(addons, {"items"})) {
      const Json& references = list_at(one, {"status", "configReferences"});
      if (references.empty()) continue;
      if (addon::config_of(references[0]) != addon::config_of(references[0], "lastAppliedConfig")) ++on_the_way;
      const std::string cluster = namespace_of(one);
      const std::string hashes = dump_json(Json{{kHash, str(references[0], {"desiredConfig", "specHash"})}});
      Json work{{"apiVersion", "work.open-cluster-management.io/v1"}, {"kind", "ManifestWork"}};
      work["metadata"] = {{"name", "addon-hello-deploy-0"}, {"namespace", cluster}};
      work["metadata"]["labels"] = {{std::string(api::kAddonNameLabel), "hello"}};
      work["metadata"]["annotations"] = {{std::string(addon::kConfigSpecHashAnnotation), hashes}};
      const Json agent{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "agent"}, {"namespace", "default"}}}};
      work["spec"]["workload"]["manifests"] = Json::array({agent});
      const auto created = as_admin.create_or_get(api::manifest_works(), cluster, work);
      if (!created) {
        ADD_FAILURE() << created.error().message;
        continue;
      }
      const auto hash = [&](Json& object) -> Status {
        object["metadata"]["annotations"][std::string(addon::kConfigSpecHashAnnotation)] = hashes;
        return {};
      };
      const auto report = [](Json& object) -> Status {
        for (const char* type : {"Applied", "Available"}) {
          controller::set_condition(at_or_make(object, {"status", "conditions"}), type, "True", "Test", "",
                                    Clock::system()->now(), num(object, {"metadata", "generation"}));
        }
        return {};
      };
      const auto applied = [](Json& object) -> Status {
        controller::set_condition(at_or_make(object, {"status", "conditions"}), "ManifestApplied", "True", "AddonManifestApplied",
                                  "", Clock::system()->now());
        return {};
      };
      static_cast<void>(as_admin.modify(api::manifest_works(), cluster, "addon-hello-deploy-0", hash));
      static_cast<void>(as_admin.modify(api::manifest_works(), cluster, "addon-hello-deploy-0", report, "status"));
      static_cast<void>(as_admin.modify(api::managed_cluster_addons_v1beta1(), cluster, "hello", applied, "status"));
    }
    return on_the_way;
  }
};

TEST_F(AddonRolloutOnAServer, IsInstalledByAPlacementAndUpgradedStepByStep) {
  const Ran init = run({"init", "--context", "hub", "-o", "json"});
  ASSERT_EQ(init.code, 0) << init.both();
  ASSERT_NO_FATAL_FAILURE(start_controllers_with_own_rights());
  must_create("/api/v1/namespaces", Json{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "apps"}}}});
  for (const char* cluster : {"c1", "c2", "c3"}) {
    must_create("/apis/cluster.open-cluster-management.io/v1/managedclusters",
                Json{{"apiVersion", "cluster.open-cluster-management.io/v1"},
                     {"kind", "ManagedCluster"},
                     {"metadata", {{"name", cluster}}},
                     {"spec", {{"hubAcceptsClient", true}}}});
  }
  const auto bound = [] { return run({"clusterset", "bind", "global", "-n", "apps", "--context", "hub"}).code == 0; };
  ASSERT_TRUE(eventually(bound)) << "the hub makes the set";
  must_create("/apis/cluster.open-cluster-management.io/v1beta1/namespaces/apps/placements",
              Json{{"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
                   {"kind", "Placement"},
                   {"metadata", {{"name", "all"}, {"namespace", "apps"}}},
                   {"spec", {{"clusterSets", {"global"}}, {"tolerations", Json::array({{{"operator", "Exists"}}})}}}});
  must_create(kConfigs, Json{{"apiVersion", "addon.open-cluster-management.io/v1beta1"},
                             {"kind", "AddOnDeploymentConfig"},
                             {"metadata", {{"name", "base"}, {"namespace", "apps"}}},
                             {"spec", {{"agentInstallNamespace", "one"}}}});
  const Json config{{"group", addon::kGroup}, {"resource", "addondeploymentconfigs"}, {"namespace", "apps"}, {"name", "base"}};
  const Json strategy{{"type", "Progressive"}, {"progressive", {{"maxConcurrency", 1}}}};
  const Json placement{{"namespace", "apps"}, {"name", "all"}, {"rolloutStrategy", strategy}, {"configs", Json::array({config})}};
  const Json hello{{"apiVersion", "addon.open-cluster-management.io/v1beta1"},
                   {"kind", "ClusterManagementAddOn"},
                   {"metadata", {{"name", "hello"}}},
                   {"spec", {{"installStrategy", {{"type", "Placements"}, {"placements", Json::array({placement})}}}}}};
  const auto declared = [&] { return hub().create(kDecl, hello).status == 201; };
  ASSERT_TRUE(eventually(declared)) << "once the API server knows where the hub converts versions";

  const kube::Client as_admin = client();
  int most = 0;
  const auto completed = [&] {
    most = std::max(most, deploy(as_admin));
    return progress() == "selected clusters 3. configured addons 3/3 completed with no errors, 0 failed 0 timeout.";
  };
  ASSERT_TRUE(eventually(completed, std::chrono::seconds(120)))
      << dump_json_pretty(declaration()) << dump_json_pretty(hub().get(kInstalled)) << dump_json_pretty(hub().get(kDeployed))
      << read_file((fleet()->folder().path() / "hub.log").string());
  EXPECT_EQ(most, 1);
  const auto told = [] {
    return run({"rollout", "status", "addon/hello", "--context", "hub", "-o", "jsonpath={.state} {.clusters[*].phase}"});
  };
  EXPECT_EQ(told().out, "Complete Done Done Done");
  EXPECT_EQ(told().code, 0);

  most = 0;
  const KubeServer::Answer edited = hub().request("PATCH", std::string(kConfigs) + "/base",
                                                  R"({"spec":{"agentInstallNamespace":"two"}})", "application/merge-patch+json");
  ASSERT_EQ(edited.status, 200) << edited.body;
  ASSERT_TRUE(eventually([&] { return !completed(); }, std::chrono::seconds(30))) << "the change was not seen";
  // The agents are played here, so the rollout stands still until deploy() is called again.
  const Ran on_the_way = told();
  EXPECT_EQ(on_the_way.code, 8) << on_the_way.both();
  EXPECT_EQ(on_the_way.out.rfind("Progressing ", 0), 0U) << on_the_way.both();
  ASSERT_TRUE(eventually(completed, std::chrono::seconds(120))) << dump_json_pretty(declaration());
  EXPECT_EQ(most, 1);

  // At rest nothing is written.
  const std::uintmax_t position = hub().audit_position();
  ASSERT_FALSE(eventually([&] { return !completed(); }, std::chrono::seconds(2)));
  for (const AuditEntry& entry : writes_since(hub(), position)) {
    EXPECT_NE(entry.api_group, "addon.open-cluster-management.io") << entry.verb << " " << entry.uri;
  }
}

/// After the test above: the add-on is complete on three clusters.
TEST_F(AddonRolloutOnAServer, IsPausedResumedUndoneAndAborted) {
  ASSERT_FALSE(declaration().is_null());
  const kube::Client as_admin = client();
  const auto command = [](std::vector<std::string> args) {
    args.insert(args.end(), {"--context", "hub"});
    return run(args);
  };
  const auto must = [&](const std::vector<std::string>& args) {
    const Ran ran = command(args);
    EXPECT_EQ(ran.code, 0) << ran.both();
  };
  const auto variables = [] {
    const Json config = hub().get(std::string(kConfigs) + "/base");
    return list_at(config, {"spec", "customizedVariables"}).size();
  };
  const auto wanted = [] {
    std::set<std::string> hashes;
    const Json addons = hub().get(kInstalled);
    for (const Json& one : list_at(addons, {"items"})) {
      for (const Json& reference : list_at(one, {"status", "configReferences"}))
        hashes.insert(str(reference, {"desiredConfig", "specHash"}));
    }
    return hashes;
  };
  int most = 0;
  const auto state = [&] {
    most = std::max(most, deploy(as_admin));
    return command({"rollout", "status", "addon/hello"}).code;
  };
  const auto completed = [&] { return state() == 0; };
  const auto history = [&](const std::string& path) {
    return command({"rollout", "history", "addon/hello", "-o", "jsonpath=" + path}).out;
  };
  ASSERT_TRUE(eventually(completed, std::chrono::seconds(60)));
  ASSERT_EQ(history("{.items[*].outcome}"), "Complete Complete");

  must({"rollout", "pause", "addon/hello", "--timeout", "30s"});
  const std::set<std::string> before = wanted();
  must({"addon", "config", "set", "hello", "LEVEL=debug", "--placement", "apps/all"});
  EXPECT_EQ(variables(), 1U);
  EXPECT_FALSE(eventually([&] { return state() != 7 || wanted() != before; }, std::chrono::seconds(3))) << "nobody begins";
  must({"rollout", "pause", "addon/hello", "--timeout", "30s"});  // the hub says so
  most = 0;
  must({"rollout", "resume", "addon/hello", "--timeout", "30s"});
  ASSERT_TRUE(eventually(completed, std::chrono::seconds(120))) << dump_json_pretty(declaration());
  EXPECT_EQ(most, 1);
  EXPECT_NE(wanted(), before);
  EXPECT_EQ(history("{.items[*].outcome}"), "Complete Complete Complete");

  most = 0;
  must({"rollout", "undo", "addon/hello"});
  EXPECT_EQ(variables(), 0U) << "the earlier contents are back";
  ASSERT_TRUE(eventually(completed, std::chrono::seconds(120))) << dump_json_pretty(declaration());
  EXPECT_EQ(most, 1);
  EXPECT_EQ(wanted(), before);
  EXPECT_TRUE(eventually([&] { return history("{.items[*].outcome}") == "Complete Complete Complete Complete"; }))
      << command({"rollout", "history", "addon/hello"}).both();
  EXPECT_EQ(history("{.items[3].copiedFrom}"), "2");

  must({"addon", "config", "set", "hello", "LEVEL=worse", "--placement", "apps/all"});
  ASSERT_TRUE(eventually([&] { return wanted().size() == 2; }, std::chrono::seconds(30))) << "one has begun";
  must({"rollout", "abort", "addon/hello"});
  EXPECT_EQ(variables(), 0U);
  ASSERT_TRUE(eventually(completed, std::chrono::seconds(120))) << dump_json_pretty(declaration());
  EXPECT_EQ(wanted(), before);
  EXPECT_EQ(history("{.items[4].outcome}"), "Aborted") << command({"rollout", "history", "addon/hello"}).both();
}

}  // namespace
}  // namespace fleetadm::testkit
