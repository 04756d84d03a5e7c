#include <gtest/gtest.h>

#include "core/sandbox/api/api_server.h"
#include "core/sandbox/controllers/pods.h"

namespace fleetadm::sandbox {
namespace {

/// One API server in memory; the controllers are called by hand.
class Workloads : public ::testing::Test {
 protected:
  void SetUp() override {
    ApiOptions options;
    options.ca_pem = "ca";
    options.token_key = pki::generate_key().value();
    auto opened = ApiServer::open(std::move(options));
    ASSERT_TRUE(opened) << opened.error().message;
    server_ = std::move(*opened);
  }
  Engine& engine() { return server_->engine(); }
  ControllerContext context() { return {engine(), ca_, "ca"}; }
  KindPtr kind(std::string_view group, std::string_view plural) { return engine().kinds().find_plural(group, plural); }

  Json make(std::string_view group, std::string_view plural, Json object) {
    const auto row = kind(group, plural);
    object["apiVersion"] = row->api_version();
    object["kind"] = row->kind;
    const auto made = engine().create(*row, row->namespaced ? "default" : "", std::move(object), as_controller("test"));
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->object : Json();
  }
  void node(const std::string& name, const Json& labels = Json::object()) {
    make("", "nodes", {{"metadata", {{"name", name}, {"labels", labels}}}});
  }
  std::vector<Json> pods() { return engine().list(*kind("", "pods"), "default"); }
  void set_phase(const Json& pod, const char* phase) {
    change(context(), *kind("", "pods"), pod, as_controller("test", "status"), [&](Json& next) {
      at_or_make(next, {"status", "phase"}) = phase;
      if (std::string_view(phase) == "Running") {
        at_or_make(next, {"status", "conditions"}) = Json::array({{{"type", "Ready"}, {"status", "True"}}});
      } else {
        erase_at(next, {"status", "conditions"});
      }
    });
  }
  void all_run() {
    for (const Json& pod : pods()) set_phase(pod, "Running");
  }
  Json get(std::string_view group, std::string_view plural, const std::string& name) {
    const auto object = engine().get(*kind(group, plural), "default", name);
    EXPECT_TRUE(object) << object.error().message;
    return object ? *object : Json();
  }
  static Json workload(const std::string& name, Json more = Json::object()) {
    const Json labels = {{"app", name}};
    Json spec = {
        {"selector", {{"matchLabels", labels}}},
        {"template",
         {{"metadata", {{"labels", labels}}}, {"spec", {{"containers", Json::array({{{"name", "c"}, {"image", "x:1"}}})}}}}}};
    spec.update(more);
    return {{"metadata", {{"name", name}, {"labels", labels}}}, {"spec", std::move(spec)}};
  }

  pki::KeyPair ca_;
  std::unique_ptr<ApiServer> server_;
};

TEST_F(Workloads, ADaemonSetHasOnePodOnEveryNodeThatItIsFor) {
  node("a");
  node("b", {{"disk", "ssd"}});
  make("apps", "daemonsets", workload("d"));
  sync_daemon_set(context(), "default", "d");
  EXPECT_EQ(pods().size(), 2U);
  all_run();
  sync_daemon_set(context(), "default", "d");
  EXPECT_EQ(num(get("apps", "daemonsets", "d"), {"status", "numberReady"}), 2);
  EXPECT_EQ(num(get("apps", "daemonsets", "d"), {"status", "updatedNumberScheduled"}), 2);
  set_phase(pods().front(), "Failed");
  sync_daemon_set(context(), "default", "d");
  sync_daemon_set(context(), "default", "d");
  for (const Json& pod : pods()) EXPECT_NE(str(pod, {"status", "phase"}), "Failed");
  EXPECT_EQ(pods().size(), 2U);
  change(context(), *kind("apps", "daemonsets"), get("apps", "daemonsets", "d"), as_controller("test"), [](Json& set) {
    at_or_make(set, {"spec", "template", "spec", "nodeSelector"}) = {{"disk", "ssd"}};
  });
  sync_daemon_set(context(), "default", "d");
  EXPECT_EQ(num(get("apps", "daemonsets", "d"), {"status", "desiredNumberScheduled"}), 1);
  EXPECT_EQ(engine().list(*kind("apps", "controllerrevisions"), "default").size(), 2U);
}

TEST_F(Workloads, OfRevisionsThatHoldTheSameTheNewestStays) {
  make("apps", "daemonsets", workload("d"));
  sync_daemon_set(context(), "default", "d");
  const auto revisions = [&] { return engine().list(*kind("apps", "controllerrevisions"), "default"); };
  ASSERT_EQ(revisions().size(), 1U);
  Json twin = revisions().front();
  twin["metadata"] = {
      {"name", "z-twin"}, {"labels", twin["metadata"]["labels"]}, {"ownerReferences", twin["metadata"]["ownerReferences"]}};
  twin["revision"] = 2;
  make("apps", "controllerrevisions", std::move(twin));
  for (int i = 0; i < 3; ++i) sync_daemon_set(context(), "default", "d");
  EXPECT_EQ(num(get("apps", "controllerrevisions", "z-twin"), {"revision"}), 2);
  for (const Json& one : revisions()) EXPECT_LE(num(one, {"revision"}), 2);
}

TEST_F(Workloads, AStatefulSetMakesItsPodsInOrder) {
  make("apps", "statefulsets", workload("s", {{"replicas", 3}, {"serviceName", "s"}}));
  sync_stateful_set(context(), "default", "s");
  ASSERT_EQ(pods().size(), 1U);
  EXPECT_EQ(name_of(pods()[0]), "s-0");
  sync_stateful_set(context(), "default", "s");
  EXPECT_EQ(pods().size(), 1U) << "the first one is not up yet";
  for (int i = 0; i < 3; ++i) {
    all_run();
    sync_stateful_set(context(), "default", "s");
  }
  ASSERT_EQ(pods().size(), 3U);
  const Json status = object_at(get("apps", "statefulsets", "s"), {"status"});
  EXPECT_EQ(num(status, {"readyReplicas"}), 3);
  EXPECT_EQ(str(status, {"currentRevision"}), str(status, {"updateRevision"}));
  change(context(), *kind("apps", "statefulsets"), get("apps", "statefulsets", "s"), as_controller("test"), [](Json& set) {
    at_or_make(set, {"spec", "replicas"}) = 1;
  });
  sync_stateful_set(context(), "default", "s");
  EXPECT_EQ(pods().size(), 2U) << "one after the other, the highest first";
  EXPECT_EQ(name_of(pods().back()), "s-1");
}

TEST_F(Workloads, OrphansAreAdoptedAndStrangersLetGo) {
  Json orphan = pod_from_template(workload("r"));
  orphan["metadata"] = {{"name", "orphan"}, {"labels", {{"app", "r"}}}};
  make("", "pods", orphan);
  make("apps", "replicasets", workload("r", {{"replicas", 2}}));
  sync_replica_set(context(), "default", "r");
  ASSERT_EQ(pods().size(), 2U);
  const auto uid = uid_of(get("apps", "replicasets", "r"));
  EXPECT_EQ(controller_uid(get("", "pods", "orphan")), uid);
  change(context(), *kind("", "pods"), get("", "pods", "orphan"), as_controller("test"), [](Json& pod) {
    at_or_make(pod, {"metadata", "labels", "app"}) = "other";
  });
  sync_replica_set(context(), "default", "r");
  EXPECT_EQ(controller_uid(get("", "pods", "orphan")), "");
  EXPECT_EQ(pods().size(), 3U);
}

TEST_F(Workloads, ADeploymentTakesOverASetAndForgetsOldOnes) {
  make("apps", "replicasets", workload("d", {{"replicas", 1}}));
  sync_replica_set(context(), "default", "d");
  all_run();
  sync_replica_set(context(), "default", "d");
  Json deployment = workload("d", {{"replicas", 1}, {"revisionHistoryLimit", 0}});
  deployment["spec"]["template"]["spec"]["containers"][0]["image"] = "x:2";
  make("apps", "deployments", deployment);
  const auto sets = [&] { return engine().list(*kind("apps", "replicasets"), "default"); };
  for (int i = 0; i < 6; ++i) {
    sync_deployment(context(), "default", "d");
    for (const Json& set : sets()) sync_replica_set(context(), "default", name_of(set));
    all_run();
    for (const Json& set : sets()) sync_replica_set(context(), "default", name_of(set));
  }
  ASSERT_EQ(sets().size(), 1U);
  EXPECT_EQ(controller_uid(sets()[0]), uid_of(get("apps", "deployments", "d")));
  EXPECT_EQ(pods().size(), 1U);
  EXPECT_EQ(num(get("apps", "deployments", "d"), {"status", "availableReplicas"}), 1);
}

TEST_F(Workloads, AnIndexedJobHasOnePodForEachIndex) {
  Json job = workload("j", {{"completionMode", "Indexed"}, {"completions", 3}, {"parallelism", 2}});
  at_or_make(job, {"spec", "template", "spec", "restartPolicy"}) = "Never";
  job["spec"].erase("selector");
  make("batch", "jobs", job);
  sync_job(context(), "default", "j");
  EXPECT_EQ(pods().size(), 2U);
  for (int i = 0; i < 2; ++i) {
    for (const Json& pod : pods()) set_phase(pod, "Succeeded");
    sync_job(context(), "default", "j");
  }
  EXPECT_EQ(pods().size(), 3U);
  const Json status = object_at(get("batch", "jobs", "j"), {"status"});
  EXPECT_EQ(str(status, {"completedIndexes"}), "0-2");
  EXPECT_EQ(num(status, {"succeeded"}), 3);
}

TEST_F(Workloads, ABudgetCountsWhatMayStillGo) {
  make("policy", "poddisruptionbudgets",
       {{"metadata", {{"name", "b"}}}, {"spec", {{"minAvailable", 2}, {"selector", {{"matchLabels", {{"app", "r"}}}}}}}});
  make("apps", "replicasets", workload("r", {{"replicas", 3}}));
  sync_replica_set(context(), "default", "r");
  sync_disruption_budget(context(), "default", "b");
  EXPECT_EQ(num(get("policy", "poddisruptionbudgets", "b"), {"status", "disruptionsAllowed"}), 0);
  all_run();
  sync_disruption_budget(context(), "default", "b");
  EXPECT_EQ(num(get("policy", "poddisruptionbudgets", "b"), {"status", "disruptionsAllowed"}), 1);
  EXPECT_EQ(num(get("policy", "poddisruptionbudgets", "b"), {"status", "expectedPods"}), 3);
}

}  // namespace
}  // namespace fleetadm::sandbox
