// The work agent on real servers, where it was found to lose data: a grace period that changes while something is evicted,
// fields that are left to others, and an executor whose rights are revoked.
#include <gtest/gtest.h>

#include "core/work/agent/agent.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"
#include "kubeclient/config/kubeconfig.h"
#include "templates/templates.h"
#include "tests/support/fleet_test.h"
#include "tests/support/killable.h"

namespace fleetadm::testkit {
namespace {

constexpr const char* kClusterWorks = "/apis/work.open-cluster-management.io/v1/namespaces/c1/manifestworks";
constexpr const char* kAppliedWorks = "/apis/work.open-cluster-management.io/v1/appliedmanifestworks";
constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps/";
constexpr const char* kDeployments = "/apis/apps/v1/namespaces/default/deployments/";
constexpr const char* kMergePatch = "application/merge-patch+json";

Json object_of(const std::string& text) {
  const Result<Json> parsed = parse_json(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : Json();
}

Json map_of(const std::string& name, const std::string& value) {
  return Json::object({{"apiVersion", "v1"},
                       {"kind", "ConfigMap"},
                       {"metadata", {{"name", name}, {"namespace", "default"}}},
                       {"data", {{"v", value}}}});
}

Json deployment_of(int replicas, const std::string& level) {
  Json object = object_of(R"({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
      "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec":
      {"containers": [{"name": "c", "image": "nginx:1", "env": [{"name": "LEVEL"}, {"name": "OTHER", "value": "x"}]}]}}}})");
  object["spec"]["replicas"] = replicas;
  object["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"] = level;
  return object;
}

class WorkAgentOnServers : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, false));
    const Ran init = run({"init", "--context", "hub"});
    ASSERT_EQ(init.code, 0) << init.both();
    const Json ns{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "c1"}}}};
    ASSERT_EQ(fleet()->hub().create("/api/v1/namespaces", ns).status, 201);
    const auto crds = templates::render("crds/spoke/appliedmanifestworks.yaml", {});
    ASSERT_TRUE(crds) << crds.error().message;
    for (const Json& crd : *crds) {
      const std::string path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
      ASSERT_LT(fleet()->spoke(1).create(path, crd).status, 300);
      ASSERT_TRUE(fleet()->spoke(1).eventually(path + "/" + name_of(crd), [](const Json& now) {
        return work::is_true(list_at(now, {"status", "conditions"}), "Established");
      }));
    }
  }

  void start_agent(Duration grace = std::chrono::hours(1)) {
    const auto client_of = [](const KubeServer& server) -> Result<kube::Client> {
      FLEETADM_TRY(const auto config, kube::Kubeconfig::from_text(server.kubeconfig()));
      FLEETADM_TRY(const auto rest, config.resolve({}));
      return kube::Client::connect(rest);
    };
    const auto hub = client_of(fleet()->hub());
    const auto spoke = client_of(fleet()->spoke(1));
    ASSERT_TRUE(hub && spoke);
    work::WorkAgentOptions options;
    options.cluster = "c1";
    options.hub_server = fleet()->hub().url();
    options.eviction_grace = grace;
    agent.start([&](controller::Manager& manager, const std::shared_ptr<kube::WriteGate>&) {
      work::add_work_controllers(manager, *hub, *spoke, options);
    });
  }
  static std::string work_path(const std::string& name) { return std::string(kClusterWorks) + "/" + name; }
  static void put(const std::string& name, Json manifests, Json spec = Json::object()) {
    spec["workload"]["manifests"] = std::move(manifests);
    Json work{{"apiVersion", "work.open-cluster-management.io/v1"}, {"kind", "ManifestWork"}, {"metadata", {{"name", name}}}};
    work["spec"] = std::move(spec);
    if (fleet()->hub().get(work_path(name)).is_null()) {
      const auto answer = fleet()->hub().create(kClusterWorks, work);
      ASSERT_EQ(answer.status, 201) << answer.body;
    } else {
      const Json patch = Json::object({{"spec", work["spec"]}});
      const auto answer = fleet()->hub().request("PATCH", work_path(name), dump_json(patch), kMergePatch);
      ASSERT_EQ(answer.status, 200) << answer.body;
    }
  }
  static bool eventually_applied(const std::string& name, const std::string& status = "True") {
    return fleet()->hub().eventually(work_path(name), [&](const Json& work) {
      const Json* applied = work::condition_in(list_at(work, {"status", "conditions"}), "Applied");
      return applied != nullptr && str(*applied, {"status"}) == status &&
             num(*applied, {"observedGeneration"}) == num(work, {"metadata", "generation"});
    });
  }
  static void patch_spoke(const std::string& path, const std::string& body, const char* type = kMergePatch) {
    const auto answer = fleet()->spoke(1).request("PATCH", path + "?fieldManager=someone", body, type);
    ASSERT_LT(answer.status, 300) << answer.body;
  }

  Killable agent;
};

TEST_F(WorkAgentOnServers, StartsTheEvictionClockAgainAfterAGracePeriodWithoutEnd) {
  put("evicted", Json::array({map_of("evicted", "1")}));
  ASSERT_NO_FATAL_FAILURE(start_agent(std::chrono::hours(1)));
  ASSERT_TRUE(eventually_applied("evicted"));
  agent.stop();
  // The work goes without the agent's consent, as in a hub that was restored from an old backup.
  const auto freed = fleet()->hub().request("PATCH", work_path("evicted"), R"({"metadata": {"finalizers": null}})", kMergePatch);
  ASSERT_EQ(freed.status, 200) << freed.body;
  ASSERT_LT(fleet()->hub().request("DELETE", work_path("evicted")).status, 300);
  const std::string applied =
      std::string(kAppliedWorks) + "/" + work::applied_name(work::hub_hash(fleet()->hub().url()), "evicted");
  const auto since = [](const Json& now) { return str(now, {"status", "evictionStartTime"}); };

  ASSERT_NO_FATAL_FAILURE(start_agent(std::chrono::hours(1)));
  ASSERT_TRUE(fleet()->spoke(1).eventually(applied, [&](const Json& now) { return !since(now).empty(); }));
  agent.stop();
  patch_spoke(applied + "/status", R"({"status": {"evictionStartTime": "2020-01-01T00:00:00Z"}})");
  ASSERT_NO_FATAL_FAILURE(start_agent(std::chrono::hours(876000)));
  ASSERT_TRUE(fleet()->spoke(1).eventually(applied, [&](const Json& now) { return since(now).empty(); }));
  agent.stop();
  ASSERT_NO_FATAL_FAILURE(start_agent(std::chrono::hours(1)));
  ASSERT_TRUE(fleet()->spoke(1).eventually(applied, [&](const Json& now) { return !since(now).empty(); }));
  EXPECT_FALSE(fleet()->spoke(1).get(std::string(kMaps) + "evicted").is_null());
}

TEST_F(WorkAgentOnServers, LeavesIgnoredFieldsToOthers) {
  const char* const kEnv = R"(.spec.template.spec.containers[0].env[] | select(.name == \"LEVEL\"))";
  const std::string fields = R"({"manifestConfigs": [{"resourceIdentifier": {"group": "apps", "resource": "deployments",
      "namespace": "default", "name": "web"}, "updateStrategy": {"type": "ServerSideApply", "serverSideApply": {"force": true,
      "ignoreFields": [{"condition": "OnSpokeChange", "jsonPaths": [".spec.replicas"]},
      {"condition": "OnSpokePresent", "jqPathExpressions": [")" +
                             std::string(kEnv) + R"("], "jsonPointers": ["/spec/template/metadata/labels/app"]}]}}}]})";
  const Json spec = object_of(fields);
  const std::string web = std::string(kDeployments) + "web";
  const auto level = [](const Json& now) {
    for (const Json& env : list_at(list_at(now, {"spec", "template", "spec", "containers"})[0], {"env"})) {
      if (str(env, {"name"}) == "LEVEL") return str(env, {"value"});
    }
    return std::string("<gone>");
  };
  const auto live = [&] { return fleet()->spoke(1).get(web); };

  put("ignoring", Json::array({deployment_of(1, "low"), map_of("beside", "1")}), spec);
  ASSERT_NO_FATAL_FAILURE(start_agent());
  ASSERT_TRUE(eventually_applied("ignoring"));
  EXPECT_EQ(level(live()), "low") << "nothing is ignored on creation";

  // An edit on the hub of nothing but an ignored element.
  put("ignoring", Json::array({deployment_of(1, "high"), map_of("beside", "1")}), spec);
  ASSERT_TRUE(eventually_applied("ignoring"));
  EXPECT_EQ(level(live()), "low");

  // An edit on the spoke, a restart, and an edit on the hub of another manifest in between.
  patch_spoke(web, R"({"spec": {"replicas": 7}})");
  agent.stop();
  put("ignoring", Json::array({deployment_of(1, "high"), map_of("beside", "2")}), spec);
  ASSERT_NO_FATAL_FAILURE(start_agent());
  ASSERT_TRUE(eventually_applied("ignoring"));
  EXPECT_EQ(num(live(), {"spec", "replicas"}), 7);
  EXPECT_EQ(level(live()), "low");

  // Drift beside the ignored fields is repaired, and they stay.
  patch_spoke(web, R"([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "nginx:9"}])",
              "application/json-patch+json");
  ASSERT_TRUE(fleet()->spoke(1).eventually(web, [](const Json& now) {
    return str(list_at(now, {"spec", "template", "spec", "containers"})[0], {"image"}) == "nginx:1";
  }));
  EXPECT_EQ(num(live(), {"spec", "replicas"}), 7);
  EXPECT_EQ(level(live()), "low");

  // An edit of the field itself on the hub counts with OnSpokeChange.
  put("ignoring", Json::array({deployment_of(3, "high"), map_of("beside", "2")}), spec);
  ASSERT_TRUE(fleet()->spoke(1).eventually(web, [](const Json& now) { return num(now, {"spec", "replicas"}) == 3; }));
  EXPECT_EQ(level(live()), "low");

  // What another applier has taken over stays its own when the agent applies again: there is no conflict with the agent.
  const auto apply_theirs = [&](int replicas, const std::string& value, bool force) {
    Json theirs = deployment_of(replicas, value);
    theirs["spec"].erase("selector");
    theirs["spec"]["template"].erase("metadata");
    Json& container = theirs["spec"]["template"]["spec"]["containers"][0];
    container.erase("image");
    container["env"].erase(1);
    const std::string query = std::string("?fieldManager=scaler&force=") + (force ? "true" : "false");
    return fleet()->spoke(1).request("PATCH", web + query, dump_json(theirs), "application/apply-patch+yaml");
  };
  ASSERT_EQ(apply_theirs(5, "theirs", true).status, 200);
  patch_spoke(web, R"([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "nginx:9"}])",
              "application/json-patch+json");
  ASSERT_TRUE(fleet()->spoke(1).eventually(web, [](const Json& now) {
    return str(list_at(now, {"spec", "template", "spec", "containers"})[0], {"image"}) == "nginx:1";
  }));
  EXPECT_EQ(num(live(), {"spec", "replicas"}), 5);
  EXPECT_EQ(level(live()), "theirs");
  const auto answer = apply_theirs(6, "again", false);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(num(live(), {"spec", "replicas"}), 6);
  EXPECT_EQ(level(live()), "again");
}

TEST_F(WorkAgentOnServers, TakesBackWhatAServicesManifestNoLongerSays) {
  const auto service = [](const std::string& spec) {
    Json object =
        object_of(R"({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "replaced", "namespace": "default"}})");
    object["spec"] = object_of(spec);
    return Json::array({object});
  };
  const std::string path = "/api/v1/namespaces/default/services/replaced";
  put("service", service(R"({"type": "NodePort", "externalIPs": ["192.0.2.1"], "selector": {"a": "b", "c": "d"},
      "ports": [{"name": "one", "port": 80}, {"name": "two", "port": 90}]})"));
  ASSERT_NO_FATAL_FAILURE(start_agent());
  ASSERT_TRUE(eventually_applied("service"));
  const Json before = fleet()->spoke(1).get(path);
  ASSERT_EQ(str(before, {"spec", "type"}), "NodePort");

  put("service", service(R"({"type": "NodePort", "selector": {"a": "b"}, "ports": [{"name": "one", "port": 80}]})"));
  ASSERT_TRUE(eventually_applied("service"));
  Json now = fleet()->spoke(1).get(path);
  EXPECT_EQ(str(now, {"spec", "clusterIP"}), str(before, {"spec", "clusterIP"}));
  EXPECT_EQ(list_at(now, {"spec", "ports"}), Json::array({list_at(before, {"spec", "ports"})[0]})) << "with its node port";
  EXPECT_EQ(object_at(now, {"spec", "selector"}), Json::object({{"a", "b"}}));
  EXPECT_TRUE(list_at(now, {"spec", "externalIPs"}).empty());

  put("service", service(R"({"ports": [{"name": "one", "port": 80}]})"));
  ASSERT_TRUE(eventually_applied("service"));
  now = fleet()->spoke(1).get(path);
  EXPECT_EQ(str(now, {"spec", "type"}), "ClusterIP");
  EXPECT_EQ(str(now, {"spec", "clusterIP"}), str(before, {"spec", "clusterIP"}));
  EXPECT_TRUE(object_at(now, {"spec", "selector"}).empty());
}

TEST_F(WorkAgentOnServers, TakesBackWhatAJobsManifestNoLongerSays) {
  const auto job = [](const std::string& more) {
    return Json::array({object_of(
        R"({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "replaced", "namespace": "default"},
        "spec": {)" +
        more + R"("template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "none:1"}]}}}})")});
  };
  const std::string path = "/apis/batch/v1/namespaces/default/jobs/replaced";
  put("job", job(R"("suspend": true, "activeDeadlineSeconds": 3600, )"));
  ASSERT_NO_FATAL_FAILURE(start_agent());
  ASSERT_TRUE(eventually_applied("job"));
  const Json before = fleet()->spoke(1).get(path);
  ASSERT_TRUE(flag(before, {"spec", "suspend"}));

  put("job", job(""));
  ASSERT_TRUE(eventually_applied("job"));
  const Json now = fleet()->spoke(1).get(path);
  EXPECT_EQ(uid_of(now), uid_of(before));
  EXPECT_FALSE(flag(now, {"spec", "suspend"})) << "it may run now";
  EXPECT_EQ(find(now, {"spec", "activeDeadlineSeconds"}), nullptr);
  EXPECT_EQ(object_at(now, {"spec", "selector"}), object_at(before, {"spec", "selector"}));
}

TEST_F(WorkAgentOnServers, NoticesThatAnExecutorsRightsWereRevoked) {
  const KubeServer& spoke = fleet()->spoke(1);
  const std::string roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/";
  const Json role = object_of(R"({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "maps"},
      "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]})");
  const Json binding = object_of(R"({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
      "metadata": {"name": "maps"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "maps"},
      "subjects": [{"kind": "ServiceAccount", "name": "sa", "namespace": "default"}]})");
  ASSERT_EQ(spoke.create(roles + "roles", role).status, 201);
  ASSERT_EQ(spoke.create(roles + "rolebindings", binding).status, 201);
  const Json spec = object_of(R"({"executor": {"subject": {"type": "ServiceAccount", "serviceAccount":
      {"namespace": "default", "name": "sa"}}}, "manifestConfigs": [{"resourceIdentifier": {"group": "", "resource": "configmaps",
      "namespace": "default", "name": "by-executor"},
      "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [{"name": "v", "path": ".data.v"}]}]}]})");
  put("executed", Json::array({map_of("by-executor", "1")}), spec);
  ASSERT_NO_FATAL_FAILURE(start_agent());
  ASSERT_TRUE(eventually_applied("executed"));

  ASSERT_LT(spoke.request("DELETE", roles + "rolebindings/maps").status, 300);
  ASSERT_TRUE(fleet()->hub().eventually(
      work_path("executed"),
      [](const Json& work) {
        const Json& manifests = list_at(work, {"status", "resourceStatus", "manifests"});
        return !work::is_true(list_at(work, {"status", "conditions"}), "Applied") && !manifests.empty() &&
               list_at(manifests[0], {"statusFeedback", "values"}).empty();
      },
      std::chrono::seconds(10)));
  EXPECT_FALSE(spoke.get(std::string(kMaps) + "by-executor").is_null()) << "what was applied stays";

  ASSERT_EQ(spoke.create(roles + "rolebindings", binding).status, 201);
  EXPECT_TRUE(eventually_applied("executed"));
}

}  // namespace
}  // namespace fleetadm::testkit
