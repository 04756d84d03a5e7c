// The work engine between two real API servers: what only a real server does (defaults, CRDs, garbage collection, immutable
// fields, terminating namespaces).
#include <algorithm>
#include <gtest/gtest.h>
#include <thread>

#include "core/api/kinds.h"
#include "core/work/agent/agent.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"
#include "core/work/rules/ownership.h"
#include "kubeclient/config/kubeconfig.h"
#include "templates/templates.h"
#include "tests/support/kube_servers.h"

namespace fleetadm::testkit {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kWorks = "/apis/work.open-cluster-management.io/v1/namespaces/c1/manifestworks";
constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kDeployments = "/apis/apps/v1/namespaces/default/deployments";

Json parsed(const std::string& text) {
  Result<Json> value = parse_json(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value ? *value : Json();
}

std::string config_map_text(const std::string& name, const std::string& value) {
  return R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": ")" + name +
         R"(", "namespace": "default"}, "data": {"v": ")" + value + "\"}}";
}

std::string deployment(const std::string& image) {
  return R"({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"}, "spec": {
    "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"creationTimestamp": null, "labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "image": ")" +
         image + R"(", "resources": {"requests": {"cpu": "1000m"}}}]}}}})";
}

class RealWork : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    KubeServerOptions hub_options;
    hub_options.name = "hub";
    hub_options.controller_manager = false;
    KubeServerOptions spoke_options;
    spoke_options.name = "c1";
    auto started = KubeServer::start_all({hub_options, spoke_options});
    ASSERT_TRUE(started) << started.error().message;
    hub = std::move((*started)[0]);
    spoke = std::move((*started)[1]);
    install(*hub, "crds/hub/manifestworks.yaml");
    install(*spoke, "crds/spoke/appliedmanifestworks.yaml");
    ASSERT_LT(
        hub->create("/api/v1/namespaces", parsed(R"({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "c1"}})"))
            .status,
        300);
  }
  static void TearDownTestSuite() {
    hub.reset();
    spoke.reset();
  }
  static void install(KubeServer& server, const char* path) {
    const auto objects = templates::render(path, {});
    ASSERT_TRUE(objects) << objects.error().message;
    for (const Json& object : *objects) {
      ASSERT_LT(server.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", object).status, 300);
      ASSERT_TRUE(
          server.eventually("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + name_of(object), [](const Json& crd) {
            return work::is_true(list_at(crd, {"status", "conditions"}), "Established");
          }));
    }
  }
  void SetUp() override {
    FLEETADM_NEEDS_KUBE_SERVERS();
    start_agent();
  }
  void TearDown() override {
    if (!spoke) return;
    const Json works = hub->get(kWorks);
    for (const Json& work : list_at(works, {"items"})) remove(name_of(work));
    EXPECT_TRUE(hub->eventually(kWorks, [](const Json& left) { return list_at(left, {"items"}).empty(); }))
        << dump_json(hub->get(kWorks)) << dump_json(spoke->get("/apis/work.open-cluster-management.io/v1/appliedmanifestworks"));
    stop_agent();
  }
  static kube::RestConfig config_of(const KubeServer& server) {
    const auto loaded = kube::Kubeconfig::from_text(server.kubeconfig());
    EXPECT_TRUE(loaded.has_value());
    const auto resolved = loaded->resolve({});
    EXPECT_TRUE(resolved.has_value());
    return *resolved;
  }
  void start_agent() {
    work::WorkAgentOptions options;
    options.cluster = "c1";
    options.hub_server = hub->url();
    manager_ = std::make_unique<controller::Manager>(controller::Manager::Options{});
    work::add_work_controllers(*manager_, kube::Client::connect(config_of(*hub)), kube::Client::connect(config_of(*spoke)),
                               options);
    thread_ = std::jthread([manager = manager_.get()](std::stop_token stop) { EXPECT_TRUE(manager->run(std::move(stop))); });
  }
  void stop_agent() {
    thread_.request_stop();
    thread_.join();
    manager_.reset();
  }

  static void put(const std::string& name, const std::string& manifests, const std::string& more = "{}") {
    Json work = parsed(R"({"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork", "metadata": {}})");
    work["metadata"]["name"] = name;
    work["spec"] = parsed(more);
    work["spec"]["workload"]["manifests"] = parsed(manifests);
    const auto answer = hub->create(kWorks, work);
    ASSERT_LT(answer.status, 300) << answer.body;
  }
  static void change(const std::string& name, const std::string& manifests) {
    Json patch = Json::object();
    at_or_make(patch, {"spec", "workload", "manifests"}) = parsed(manifests);
    const auto answer = hub->request("PATCH", kWorks + ("/" + name), dump_json(patch), "application/merge-patch+json");
    ASSERT_LT(answer.status, 300) << answer.body;
  }
  static void remove(const std::string& name) { hub->request("DELETE", kWorks + ("/" + name)); }
  static Json work_object(const std::string& name) { return hub->get(kWorks + ("/" + name)); }
  /// What Applied says of one manifest.
  static std::string message_of(const std::string& name, std::size_t ordinal) {
    const Json work = work_object(name);
    const Json& manifests = list_at(work, {"status", "resourceStatus", "manifests"});
    if (ordinal >= manifests.size()) return {};
    const Json* applied = work::condition_in(list_at(manifests[ordinal], {"conditions"}), "Applied");
    return applied == nullptr ? "" : str(*applied, {"message"});
  }
  static bool reported(const std::string& name, const char* type, const char* status, Duration timeout = seconds(20)) {
    return hub->eventually(
        kWorks + ("/" + name),
        [&](const Json& work) {
          const Json* condition = work::condition_in(list_at(work, {"status", "conditions"}), type);
          return condition != nullptr && str(*condition, {"status"}) == status &&
                 num(*condition, {"observedGeneration"}) == num(work, {"metadata", "generation"});
        },
        timeout);
  }
  static bool spoke_has(const std::string& path, const std::function<bool(const Json&)>& done, Duration timeout = seconds(10)) {
    return spoke->eventually(path, done, timeout);
  }
  static void quiet() { std::this_thread::sleep_for(seconds(1)); }
  static int agent_writes(const KubeServer& server, std::uintmax_t since) {
    return static_cast<int>(server.audit_since(since, [](const AuditEntry& entry) { return entry.is_write(); }).size());
  }

  static std::unique_ptr<KubeServer> hub;
  static std::unique_ptr<KubeServer> spoke;
  std::unique_ptr<controller::Manager> manager_;
  std::jthread thread_;
};
std::unique_ptr<KubeServer> RealWork::hub;
std::unique_ptr<KubeServer> RealWork::spoke;

TEST_F(RealWork, AppliesRepairsUpdatesAndDeletes) {
  put("w1", "[" + config_map_text("a", "1") + "," + deployment("nginx:1") + "]", R"({"manifestConfigs": [{
      "resourceIdentifier": {"group": "apps", "resource": "deployments", "namespace": "default", "name": "web"},
      "feedbackRules": [{"type": "WellKnownStatus"}]}]})");
  ASSERT_TRUE(reported("w1", "Applied", "True")) << dump_json(work_object("w1"));
  ASSERT_TRUE(reported("w1", "Available", "True"));
  EXPECT_TRUE(hub->eventually(kWorks + std::string("/w1"), [](const Json& work) {
    const Json& manifests = list_at(work, {"status", "resourceStatus", "manifests"});
    return manifests.size() == 2 && !list_at(manifests[1], {"statusFeedback", "values"}).empty();
  })) << dump_json(work_object("w1"));

  quiet();
  const auto hub_position = hub->audit_position();
  const auto spoke_position = spoke->audit_position();
  stop_agent();
  start_agent();
  quiet();
  EXPECT_EQ(agent_writes(*hub, hub_position), 0) << "a restart changes nothing";
  EXPECT_EQ(agent_writes(*spoke, spoke_position), 0);

  // Someone deletes, someone edits.
  spoke->request("DELETE", kMaps + std::string("/a"));
  EXPECT_TRUE(spoke_has(
      kMaps + std::string("/a"),
      [](const Json& map) {
        return str(map, {"data", "v"}) == "1";
      },
      seconds(1)));
  spoke->request("PATCH", kDeployments + std::string("/web"),
                 R"({"spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "c", "image": "evil"}]}}}})",
                 "application/strategic-merge-patch+json");
  EXPECT_TRUE(spoke_has(
      kDeployments + std::string("/web"),
      [](const Json& web) {
        return str(list_at(web, {"spec", "template", "spec", "containers"})[0], {"image"}) == "nginx:1";
      },
      seconds(1)));
  EXPECT_EQ(num(spoke->get(kDeployments + std::string("/web")), {"spec", "replicas"}), 3) << "not named by the manifest";

  change("w1", "[" + config_map_text("b", "2") + "," + deployment("nginx:2") + "]");
  ASSERT_TRUE(reported("w1", "Applied", "True"));
  EXPECT_TRUE(spoke_has(kMaps + std::string("/a"), [](const Json& map) { return map.is_null(); }));
  EXPECT_EQ(str(spoke->get(kMaps + std::string("/b")), {"data", "v"}), "2");
  remove("w1");
  EXPECT_TRUE(hub->eventually(kWorks + std::string("/w1"), [](const Json& work) { return work.is_null(); }));
  EXPECT_TRUE(spoke->get(kDeployments + std::string("/web")).is_null());
  EXPECT_TRUE(spoke->get(kMaps + std::string("/b")).is_null());
  EXPECT_TRUE(list_at(spoke->get("/apis/work.open-cluster-management.io/v1/appliedmanifestworks"), {"items"}).empty());
}

TEST_F(RealWork, ACustomResourceComesWithItsType) {
  const std::string crd = R"({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
    "names": {"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"}, "versions": [{"name": "v1",
    "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object",
    "properties": {"size": {"type": "integer"}}}}}}}]}})";
  const std::string widget =
      R"({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x", "namespace": "default"},
    "spec": {"size": 1}})";
  put("types", "[" + widget + "," + crd + "]");
  ASSERT_TRUE(reported("types", "Applied", "True", seconds(30))) << dump_json(work_object("types"));
  EXPECT_EQ(num(spoke->get("/apis/example.com/v1/namespaces/default/widgets/x"), {"spec", "size"}), 1);
  remove("types");
  EXPECT_TRUE(hub->eventually(kWorks + std::string("/types"), [](const Json& work) { return work.is_null(); }));
  EXPECT_TRUE(spoke_has("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com",
                        [](const Json& object) { return object.is_null(); }));
}

TEST_F(RealWork, ANamespaceThatComesLaterIsNoticed) {
  put("late",
      R"([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "later"}, "data": {"v": "1"}},)" +
          config_map_text("now", "1") + "]");
  ASSERT_TRUE(reported("late", "Applied", "False"));
  const Json work = work_object("late");
  const Json& first = list_at(work, {"status", "resourceStatus", "manifests"})[0];
  EXPECT_EQ(str(*work::condition_in(list_at(first, {"conditions"}), "Applied"), {"message"}),
            "Failed to apply manifest: namespaces \"later\" not found");
  EXPECT_FALSE(spoke->get(kMaps + std::string("/now")).is_null()) << "one failure holds up nothing else";
  spoke->create("/api/v1/namespaces", parsed(R"({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "later"}})"));
  EXPECT_TRUE(reported("late", "Applied", "True", seconds(40)));
}

TEST_F(RealWork, AnImmutableFieldIsAClearFailure) {
  const auto claim = [](const char* value) {
    return R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fixed", "namespace": "default"}, "immutable": true, "data": {"v": ")" +
           std::string(value) + "\"}}";
  };
  put("fixed", "[" + claim("1") + "]");
  ASSERT_TRUE(reported("fixed", "Applied", "True"));
  change("fixed", "[" + claim("2") + "]");
  ASSERT_TRUE(reported("fixed", "Applied", "False"));
  const Json work = work_object("fixed");
  const Json& entry = list_at(work, {"status", "resourceStatus", "manifests"})[0];
  EXPECT_NE(str(*work::condition_in(list_at(entry, {"conditions"}), "Applied"), {"message"}).find("immutable"),
            std::string::npos);
}

TEST_F(RealWork, AJobIsAppliedOnceAndReportsItsEnd) {
  const std::string job =
      R"({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once", "namespace": "default"}, "spec": {
    "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]}}}})";
  put("job", "[" + job + "]", R"({"manifestConfigs": [{
      "resourceIdentifier": {"group": "batch", "resource": "jobs", "namespace": "default", "name": "once"},
      "conditionRules": [{"type": "WellKnownConditions", "condition": "Complete"}], "feedbackRules": [{"type": "WellKnownStatus"}]}]})");
  ASSERT_TRUE(reported("job", "Applied", "True")) << dump_json(work_object("job"));
  EXPECT_TRUE(reported("job", "Complete", "False")) << dump_json(work_object("job"));
  quiet();
  const auto position = spoke->audit_position();
  stop_agent();
  start_agent();
  quiet();
  EXPECT_EQ(agent_writes(*spoke, position), 0);
}

TEST_F(RealWork, TwoWorksShareAnObject) {
  put("one", "[" + config_map_text("shared", "1") + "]");
  put("two", "[" + config_map_text("shared", "1") + "]");
  ASSERT_TRUE(reported("one", "Applied", "True"));
  ASSERT_TRUE(reported("two", "Applied", "True"));
  remove("one");
  EXPECT_TRUE(hub->eventually(kWorks + std::string("/one"), [](const Json& work) { return work.is_null(); }));
  quiet();  // the garbage collector had its turn
  EXPECT_EQ(list_at(spoke->get(kMaps + std::string("/shared")), {"metadata", "ownerReferences"}).size(), 1U);
}

TEST_F(RealWork, AnObjectIsHandedOverWithoutBeingDeleted) {
  put("w1", "[" + config_map_text("a", "1") + "," + config_map_text("moving", "1") + "]");
  ASSERT_TRUE(reported("w1", "Applied", "True"));
  stop_agent();
  const std::string uid = uid_of(spoke->get(kMaps + std::string("/moving")));
  put("w2", "[" + config_map_text("moving", "1") + "]");
  change("w1", "[" + config_map_text("a", "1") + "]");
  start_agent();
  ASSERT_TRUE(reported("w1", "Applied", "True"));
  ASSERT_TRUE(reported("w2", "Applied", "True"));
  EXPECT_TRUE(spoke_has(kMaps + std::string("/moving"), [&](const Json& map) {
    return uid_of(map) == uid && list_at(map, {"metadata", "ownerReferences"}).size() == 1;
  })) << dump_json(spoke->get(kMaps + std::string("/moving")));
}

TEST_F(RealWork, AWorkDeletedWhileItsClusterIsAwayIsCleanedUpLater) {
  put("w1", "[" + config_map_text("a", "1") + "]");
  ASSERT_TRUE(reported("w1", "Applied", "True"));
  stop_agent();
  remove("w1");
  quiet();
  EXPECT_TRUE(is_deleting(work_object("w1")));
  EXPECT_FALSE(spoke->get(kMaps + std::string("/a")).is_null());
  start_agent();
  EXPECT_TRUE(hub->eventually(kWorks, [](const Json& left) { return list_at(left, {"items"}).empty(); }));
  EXPECT_TRUE(spoke_has(kMaps, [](const Json& maps) {
    const Json& items = list_at(maps, {"items"});
    return std::none_of(items.begin(), items.end(), [](const Json& map) { return name_of(map) == "a"; });
  }));
}

TEST_F(RealWork, ATerminatingNamespaceIsSaidAndWaitedFor) {
  const std::string ns = R"({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ending"}})";
  ASSERT_LT(spoke->create("/api/v1/namespaces", parsed(ns)).status, 300);
  // A finalizer of someone's keeps an object, and with it the namespace.
  ASSERT_LT(
      spoke
          ->create(
              "/api/v1/namespaces/ending/configmaps",
              parsed(
                  R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "finalizers": ["example.com/hold"]}})"))
          .status,
      300);
  spoke->request("DELETE", "/api/v1/namespaces/ending");
  ASSERT_TRUE(spoke_has("/api/v1/namespaces/ending", [](const Json& object) { return is_deleting(object); }));
  put("w1", R"([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "ending"}}])");
  ASSERT_TRUE(reported("w1", "Applied", "False"));
  const Json work = work_object("w1");
  const Json& entry = list_at(work, {"status", "resourceStatus", "manifests"})[0];
  const std::string message = str(*work::condition_in(list_at(entry, {"conditions"}), "Applied"), {"message"});
  EXPECT_NE(message.find("being terminated"), std::string::npos) << message;
  spoke->request("PATCH", "/api/v1/namespaces/ending/configmaps/held", R"({"metadata": {"finalizers": null}})",
                 "application/merge-patch+json");
}

TEST_F(RealWork, ServerSideApplyLeavesOthersFieldsAndSaysConflicts) {
  put("w1", "[" + deployment("nginx:1") + "]", R"({"manifestConfigs": [{
      "resourceIdentifier": {"group": "apps", "resource": "deployments", "namespace": "default", "name": "web"},
      "updateStrategy": {"type": "ServerSideApply", "serverSideApply": {"ignoreFields": [
        {"condition": "OnSpokeChange", "jqPathExpressions": [".spec.template.spec.containers[] | select(.name == \"c\") | .image"]}]}}}]})");
  ASSERT_TRUE(reported("w1", "Applied", "True")) << dump_json(work_object("w1"));
  spoke->request("PATCH", kDeployments + std::string("/web"),
                 R"({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "theirs"}]}}}})",
                 "application/strategic-merge-patch+json");
  quiet();
  EXPECT_EQ(
      str(list_at(spoke->get(kDeployments + std::string("/web")), {"spec", "template", "spec", "containers"})[0], {"image"}),
      "theirs")
      << "ignored on change";
  // A new manifest counts, and the field is another's now: without force that is a conflict, and it is said.
  change("w1", "[" + deployment("nginx:2") + "]");
  ASSERT_TRUE(reported("w1", "Applied", "False"));
  const Json work = work_object("w1");
  const Json& entry = list_at(work, {"status", "resourceStatus", "manifests"})[0];
  EXPECT_NE(str(*work::condition_in(list_at(entry, {"conditions"}), "Applied"), {"message"}).find("conflict"), std::string::npos)
      << dump_json(entry);
}

TEST_F(RealWork, AnExecutorMayGiveNoMoreThanItHas) {
  const std::string executor =
      R"({"executor": {"subject": {"type": "ServiceAccount", "serviceAccount": {"namespace": "default", "name": "deployer"}}}})";
  const auto rule = [](const std::string& groups, const std::string& resources, const std::string& verbs) {
    return R"({"apiGroups": [")" + groups + R"("], "resources": [")" + resources + R"("], "verbs": [)" + verbs + "]}";
  };
  const std::string all = R"("get", "create", "update", "patch", "delete")";
  ASSERT_LT(
      spoke
          ->create(
              "/apis/rbac.authorization.k8s.io/v1/clusterroles",
              parsed(
                  R"({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "deployer"}, "rules": [)" +
                  rule("", "configmaps", all) + "," + rule("rbac.authorization.k8s.io", "roles", all) + "]}"))
          .status,
      300);
  ASSERT_LT(spoke
                ->create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                         parsed(R"({"apiVersion": "rbac.authorization.k8s.io/v1",
      "kind": "ClusterRoleBinding", "metadata": {"name": "deployer"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "deployer"},
      "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": "deployer"}]})"))
                .status,
            300);
  const auto role = [&](const std::string& resource) {
    return R"({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": ")" + resource +
           R"(", "namespace": "default"}, "rules": [)" + rule("", resource, R"("get")") + "]}";
  };
  put("w1", "[" + config_map_text("a", "1") + "," + role("configmaps") + "]", executor);
  EXPECT_TRUE(reported("w1", "Applied", "True")) << dump_json(work_object("w1"));
  put("w2", "[" + role("secrets") + "]", executor);
  EXPECT_TRUE(reported("w2", "Applied", "False"));
  EXPECT_NE(spoke->request("GET", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/secrets").status, 200)
      << "it would have given what it does not have";
}

TEST_F(RealWork, TwoWorksThatWantDifferentThingsSaySoAndDoNotFightForEver) {
  put("one", "[" + config_map_text("contested", "1") + "]");
  put("two", "[" + config_map_text("contested", "2") + "]");
  const auto said = [](const std::string& name) { return message_of(name, 0); };
  EXPECT_TRUE(eventually([&] {
    return said("one").find("keeps being changed") != std::string::npos ||
           said("two").find("keeps being changed") != std::string::npos;
  })) << said("one")
      << "\n"
      << said("two");
  const auto position = spoke->audit_position();
  std::this_thread::sleep_for(seconds(5));
  EXPECT_LE(agent_writes(*spoke, position), 12) << "met with patience";
  remove("one");
  EXPECT_TRUE(reported("two", "Applied", "True", seconds(40))) << dump_json(work_object("two"));
  EXPECT_EQ(str(spoke->get(kMaps + std::string("/contested")), {"data", "v"}), "2");
}

TEST_F(RealWork, ANamespaceThatTerminatesUnderAWorkIsSaidAndItComesBack) {
  const std::string maps = "/api/v1/namespaces/passing/configmaps";
  put("w1", R"([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "passing"}},
      {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "passing"}, "data": {"v": "1"}}])");
  ASSERT_TRUE(reported("w1", "Applied", "True"));
  ASSERT_LT(spoke
                ->create(maps, parsed(R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held",
      "finalizers": ["example.com/hold"]}})"))
                .status,
            300);
  spoke->request("DELETE", "/api/v1/namespaces/passing");
  ASSERT_TRUE(reported("w1", "Applied", "False")) << dump_json(work_object("w1"));
  EXPECT_TRUE(eventually([&] { return message_of("w1", 1).find("being terminated") != std::string::npos; }))
      << dump_json(work_object("w1"));
  const std::string former = uid_of(spoke->get("/api/v1/namespaces/passing"));
  spoke->request("PATCH", maps + "/held", R"({"metadata": {"finalizers": null}})", "application/merge-patch+json");
  ASSERT_TRUE(reported("w1", "Applied", "True", seconds(60))) << dump_json(work_object("w1"));
  EXPECT_NE(uid_of(spoke->get("/api/v1/namespaces/passing")), former);
  EXPECT_EQ(str(spoke->get(maps + "/x"), {"data", "v"}), "1");
}

TEST_F(RealWork, AnObjectOverTheSizeLimitIsAClearFailure) {
  // More than one command may ship, but a hub whose admission does not count bytes takes it; the cluster does not.
  put("large", "[" + config_map_text("large", std::string(1100UL * 1024, 'x')) + "," + config_map_text("small", "1") + "]");
  ASSERT_TRUE(reported("large", "Applied", "False"));
  EXPECT_NE(message_of("large", 0).find("Too long"), std::string::npos) << message_of("large", 0).substr(0, 300);
  EXPECT_LT(message_of("large", 0).size(), 4096U);
  EXPECT_TRUE(spoke_has(kMaps + std::string("/small"), [](const Json& map) { return !map.is_null(); }));
  change("large", "[" + config_map_text("small", "1") + "]");
  EXPECT_TRUE(reported("large", "Applied", "True"));
}

TEST_F(RealWork, WhatIsNoObjectIsRefusedByTheHubOrSaid) {
  Json work = parsed(R"({"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork", "metadata": {"name": "bad"},
      "spec": {"workload": {"manifests": ["no object"]}}})");
  const auto refused = hub->create(kWorks, work);
  EXPECT_EQ(refused.status, 422) << refused.body;
  put("bad", R"([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "No_Name", "namespace": "default"}},
      {"apiVersion": "example.org/v1", "kind": "Unheard", "metadata": {"name": "x", "namespace": "default"}},)" +
                 config_map_text("good", "1") + "]");
  ASSERT_TRUE(reported("bad", "Applied", "False"));
  EXPECT_NE(message_of("bad", 0).find("RFC 1123"), std::string::npos) << message_of("bad", 0);
  EXPECT_NE(message_of("bad", 1).find("Unheard"), std::string::npos) << message_of("bad", 1);
  EXPECT_TRUE(spoke_has(kMaps + std::string("/good"), [](const Json& map) { return !map.is_null(); }));
}

}  // namespace
}  // namespace fleetadm::testkit
