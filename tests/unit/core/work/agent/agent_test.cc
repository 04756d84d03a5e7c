// The work agent against two API servers in memory.
#include <atomic>
#include <chrono>
#include <ctime>
#include <gtest/gtest.h>
#include <thread>

#include "core/api/kinds.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"
#include "core/work/rules/ownership.h"
#include "tests/unit/core/work/fleet.h"

namespace fleetadm::work {
namespace {

using testing::config_map;
using testing::deployment;
using testing::eventually;
using testing::Fleet;
using testing::parsed;
using testing::work_of;

std::string value_of(const std::optional<Json>& object) { return object ? str(*object, {"data", "v"}) : "<absent>"; }

class WorkAgent : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& manifests, const std::string& more = "{}") {
    fleet.hub->put(api::manifest_works(), work_of(name, manifests, more));
  }
  /// Someone changes an object on the spoke behind the agent's back.
  void meddle(const kube::Resource& resource, Json object) {
    object["metadata"]["generation"] = num(object, {"metadata", "generation"}) + 1;
    fleet.spoke->put(resource, std::move(object));
  }
  /// A person's change of the spec: a new generation.
  void change(const std::string& name, const std::string& manifests, const std::string& more = "{}") {
    Json patch = Json::object({{"spec", work_of(name, manifests, more)["spec"]}});
    const Result<Json> patched =
        fleet.hub->client().patch(api::manifest_works(), testing::kCluster, name, kube::PatchType::kMerge, patch);
    ASSERT_TRUE(patched.has_value()) << patched.error().message;
  }
  void wait_applied(const std::string& name) {
    ASSERT_TRUE(eventually([&] { return fleet.is_applied(name); })) << dump_json(fleet.work(name).value_or(Json()));
  }

  Fleet fleet;
};

TEST_F(WorkAgent, AppliesWithOwnershipInventoryAndConditions) {
  put("w1", "[" + config_map("a", "1") + "," + deployment("web", 1) + "]");
  fleet.start_agent();
  wait_applied("w1");
  testing::settle(*fleet.hub, *fleet.spoke);  // the hub is told before the inventory
  const Json work = *fleet.work("w1");
  EXPECT_TRUE(has_finalizer(work, kWorkFinalizer));
  EXPECT_EQ(fleet.condition("w1", "Applied", "reason"), "AppliedManifestWorkComplete");
  EXPECT_EQ(fleet.condition("w1", "Available", "reason"), "ResourcesAvailable");
  const Json applied = *fleet.applied_work("w1");
  EXPECT_TRUE(has_finalizer(applied, kAppliedFinalizer));
  const std::string hash = hub_hash(testing::kHubServer);
  EXPECT_EQ(object_at(applied, {"spec"}), Json::object({{"hubHash", hash}, {"agentID", hash}, {"manifestWorkName", "w1"}}));
  const Owner owner{name_of(applied), uid_of(applied)};
  const std::optional<Json> map = fleet.config_map("a");
  ASSERT_TRUE(map);
  EXPECT_EQ(list_at(*map, {"metadata", "ownerReferences"}), Json::array({owner.reference()}));
  const std::vector<AppliedResource> inventory = inventory_of(applied);
  ASSERT_EQ(inventory.size(), 2U);
  EXPECT_EQ(inventory[0], (AppliedResource{"", "v1", "configmaps", "default", "a", uid_of(*map)}));
  EXPECT_EQ(inventory[1].resource, "deployments");
}

TEST_F(WorkAgent, WritesNothingWhenNothingChanged) {
  put("w1", "[" + config_map("a", "1") + "," + deployment("web", 1) + "]", R"({"manifestConfigs": [{
      "resourceIdentifier": {"group": "apps", "resource": "deployments", "namespace": "default", "name": "web"},
      "feedbackRules": [{"type": "WellKnownStatus"}]}]})");
  fleet.start_agent();
  wait_applied("w1");
  testing::settle(*fleet.hub, *fleet.spoke);
  const int before = fleet.writes_of_agent();
  EXPECT_EQ(before, 6) << "finalizer, applied work, two objects, inventory, status";
  const Json label = parsed(R"({"metadata": {"labels": {"x": "y"}}})");
  ASSERT_TRUE(fleet.hub->client().patch(api::manifest_works(), testing::kCluster, "w1", kube::PatchType::kMerge, label));
  testing::settle(*fleet.hub, *fleet.spoke);
  EXPECT_EQ(fleet.writes_of_agent(), before);
  const Json state = fleet.state();
  fleet.start_agent();  // counts anew
  testing::settle(*fleet.hub, *fleet.spoke);
  EXPECT_EQ(fleet.writes_of_agent(), 0) << "after a restart";
  EXPECT_EQ(fleet.state(), state);
}

TEST_F(WorkAgent, RepairsDriftAtOnce) {
  put("w1", "[" + config_map("a", "1") + "," + deployment("web", 2) + "]");
  fleet.start_agent();
  wait_applied("w1");
  testing::settle(*fleet.hub, *fleet.spoke);
  Json changed = *fleet.config_map("a");
  changed["data"] = {{"v", "hacked"}, {"more", "x"}};
  meddle(kube::resources::config_maps(), changed);
  EXPECT_TRUE(eventually([&] { return value_of(fleet.config_map("a")) == "1" && fleet.config_map("a")->at("data").size() == 1; },
                         std::chrono::seconds(1)));
  ASSERT_TRUE(fleet.spoke->erase(kube::resources::config_maps(), "default", "a"));
  EXPECT_TRUE(eventually([&] { return value_of(fleet.config_map("a")) == "1"; }, std::chrono::seconds(1)));
  const auto uid_in_inventory = [&] { return inventory_of(*fleet.applied_work("w1")).at(0).uid; };
  EXPECT_TRUE(eventually([&] { return uid_in_inventory() == uid_of(*fleet.config_map("a")); }));
  Json scaled = *fleet.spoke->get(kube::resources::deployments(), "default", "web");
  scaled["spec"]["replicas"] = 7;
  scaled["spec"]["paused"] = true;  // not in the manifest: someone else's
  meddle(kube::resources::deployments(), scaled);
  EXPECT_TRUE(eventually(
      [&] {
        const Json live = *fleet.spoke->get(kube::resources::deployments(), "default", "web");
        return num(live, {"spec", "replicas"}) == 2 && flag(live, {"spec", "paused"});
      },
      std::chrono::seconds(1)));
}

TEST_F(WorkAgent, MeetsAFighterWithPatience) {
  put("w1", "[" + config_map("a", "1") + "]");
  fleet.start_agent();
  wait_applied("w1");
  testing::settle(*fleet.hub, *fleet.spoke);
  const int before = fleet.spoke->count("update", "configmaps");
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(900);
  int fights = 0;
  while (std::chrono::steady_clock::now() < end) {
    if (Json live = *fleet.config_map("a"); str(live, {"data", "v"}) == "1") {
      live["data"]["v"] = "mine " + std::to_string(++fights);
      meddle(kube::resources::config_maps(), live);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_LE(fleet.spoke->count("update", "configmaps") - before, 7);
  EXPECT_TRUE(eventually([&] { return value_of(fleet.config_map("a")) == "1"; }, std::chrono::seconds(5)))
      << "patient, not resigned";
}

TEST_F(WorkAgent, ReportsFeedbackAsItChanges) {
  put("w1", "[" + deployment("web", 1) + "]", R"({"manifestConfigs": [{
      "resourceIdentifier": {"group": "apps", "resource": "deployments", "namespace": "default", "name": "web"},
      "feedbackRules": [{"type": "WellKnownStatus"}]}]})");
  fleet.start_agent();
  wait_applied("w1");
  testing::settle(*fleet.hub, *fleet.spoke);
  Json live = *fleet.spoke->get(kube::resources::deployments(), "default", "web");
  live["status"] = {{"readyReplicas", 1}, {"replicas", 1}, {"availableReplicas", 1}};
  fleet.spoke->put(kube::resources::deployments(), live);
  EXPECT_TRUE(eventually(
      [&] {
        const Json work = *fleet.work("w1");
        const Json& manifests = list_at(work, {"status", "resourceStatus", "manifests"});
        return manifests.size() == 1 && list_at(manifests[0], {"statusFeedback", "values"}).size() == 3;
      },
      std::chrono::seconds(1)));
}

TEST_F(WorkAgent, DeletesWhatLeftTheWorkWithItsUid) {
  put("w1", "[" + config_map("a", "1") + "," + config_map("b", "1") + "]");
  fleet.start_agent();
  wait_applied("w1");
  testing::settle(*fleet.hub, *fleet.spoke);
  const std::string uid = uid_of(*fleet.config_map("b"));
  change("w1", "[" + config_map("a", "2") + "]");
  EXPECT_TRUE(eventually([&] { return !fleet.config_map("b") && value_of(fleet.config_map("a")) == "2"; }));
  EXPECT_TRUE(eventually([&] { return inventory_of(*fleet.applied_work("w1")).size() == 1; }));
  for (const testkit::ApiCall& call : fleet.spoke->writes()) {
    if (call.verb != "delete") continue;
    EXPECT_EQ(str(call.body, {"preconditions", "uid"}), uid);
    EXPECT_EQ(str(call.body, {"propagationPolicy"}), "Background");
  }
  EXPECT_TRUE(eventually([&] {
    const Json work = *fleet.work("w1");
    return list_at(work, {"status", "resourceStatus", "manifests"}).size() == 1;
  }));
}

TEST_F(WorkAgent, AFailureOfTheNewNeverDeletesTheOld) {
  put("w1", "[" + config_map("a", "1") + "," + config_map("b", "1") + "]");
  fleet.start_agent();
  wait_applied("w1");
  change("w1", R"([{"apiVersion": "nope.example.com/v1", "kind": "Nope", "metadata": {"name": "x", "namespace": "default"}},)" +
                   config_map("a", "2") + "]");
  ASSERT_TRUE(eventually([&] { return fleet.condition("w1", "Applied") == "False"; }));
  EXPECT_TRUE(eventually([&] { return value_of(fleet.config_map("a")) == "2"; }));
  testing::settle(*fleet.hub, *fleet.spoke);
  EXPECT_TRUE(fleet.config_map("b"));
  EXPECT_EQ(inventory_of(*fleet.applied_work("w1")).size(), 2U);
  const Json work = *fleet.work("w1");
  const Json& first = list_at(work, {"status", "resourceStatus", "manifests"})[0];
  EXPECT_EQ(str(*condition_in(list_at(first, {"conditions"}), "Applied"), {"message"}),
            "Failed to apply manifest: the server doesn't have a resource type \"Nope\"");
  EXPECT_EQ(str(*condition_in(list_at(first, {"conditions"}), "Available"), {"reason"}), "IncompleteResourceMeta");
}

TEST_F(WorkAgent, FailedDiscoveryDeletesNothing) {
  put("w1", "[" + config_map("a", "1") + "]");
  fleet.start_agent();
  wait_applied("w1");
  fleet.stop_agent();
  change("w1", "[" + deployment("web", 1) + "]");
  fleet.spoke->fail_next("get", "", 503, "ServiceUnavailable", 6);
  fleet.start_agent();
  EXPECT_TRUE(eventually([&] { return fleet.is_applied("w1"); }, std::chrono::seconds(20)));
  EXPECT_TRUE(eventually([&] { return !fleet.config_map("a"); }));
}

TEST_F(WorkAgent, DeletionTakesOnlyWhatTheWorkOwns) {
  put("w1", "[" + config_map("a", "1") + "," + config_map("shared", "1") + "]");
  put("w2", "[" + config_map("shared", "1") + "]");
  fleet.start_agent();
  wait_applied("w1");
  wait_applied("w2");
  ASSERT_TRUE(eventually([&] { return list_at(*fleet.config_map("shared"), {"metadata", "ownerReferences"}).size() == 2; }));
  fleet.remove_work("w1");
  EXPECT_TRUE(eventually([&] { return fleet.is_gone("w1"); }));
  EXPECT_FALSE(fleet.config_map("a"));
  ASSERT_TRUE(fleet.config_map("shared"));
  EXPECT_EQ(list_at(*fleet.config_map("shared"), {"metadata", "ownerReferences"}).size(), 1U);
  fleet.remove_work("w2");
  EXPECT_TRUE(eventually([&] { return fleet.is_gone("w2"); }));
  EXPECT_FALSE(fleet.config_map("shared"));
}

/// The time that all threads of this process computed.
std::chrono::nanoseconds computed() {
  timespec used{};
  EXPECT_EQ(::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used), 0);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

// The reconciles of a work and of its inventory must not call each other without end once both are gone.
TEST_F(WorkAgent, RestsWhenAWorkIsGone) {
  put("w1", "[" + config_map("a", "1") + "]");
  put("w2", "[" + config_map("b", "1") + "]");
  fleet.start_agent();
  wait_applied("w1");
  wait_applied("w2");
  fleet.remove_work("w1");
  ASSERT_TRUE(eventually([&] { return fleet.is_gone("w1"); }));
  std::chrono::nanoseconds used{};
  const auto rests = [&] {
    const auto before = computed();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    used = computed() - before;
    return used < std::chrono::milliseconds(30);
  };
  EXPECT_TRUE(eventually(rests, std::chrono::seconds(4))) << used.count() << " ns of a second";
}

TEST_F(WorkAgent, AnOrphaningWorkLeavesItsObjects) {
  put("w1", "[" + config_map("a", "1") + "]");
  fleet.start_agent();
  wait_applied("w1");
  fleet.stop_agent();
  // Made orphaning and deleted while the agent was away: the owner reference must go before the owner.
  change("w1", "[" + config_map("a", "1") + "]", R"({"deleteOption": {"propagationPolicy": "Orphan"}})");
  fleet.remove_work("w1");
  fleet.start_agent();
  EXPECT_TRUE(eventually([&] { return fleet.is_gone("w1"); }));
  ASSERT_TRUE(fleet.config_map("a"));
  EXPECT_TRUE(list_at(*fleet.config_map("a"), {"metadata", "ownerReferences"}).empty());
}

TEST_F(WorkAgent, DeletionWaitsForObjectsWithFinalizers) {
  put("w1", "[" + config_map("a", "1") + "]");
  fleet.start_agent();
  wait_applied("w1");
  Json held = *fleet.config_map("a");
  held["metadata"]["finalizers"] = Json::array({"example.com/hold"});
  fleet.spoke->put(kube::resources::config_maps(), held);
  testing::settle(*fleet.hub, *fleet.spoke);
  fleet.remove_work("w1");
  ASSERT_TRUE(eventually([&] { return is_deleting(fleet.config_map("a").value_or(Json())); }));
  EXPECT_TRUE(eventually([&] { return fleet.condition("w1", "Deleting", "reason") == "WorkDeleting"; }));
  EXPECT_TRUE(fleet.applied_work("w1"));
  Json released = *fleet.config_map("a");
  fleet.spoke->erase(kube::resources::config_maps(), "default", "a");
  EXPECT_TRUE(eventually([&] { return fleet.is_gone("w1"); }));
}

TEST_F(WorkAgent, StrategiesDoWhatTheySay) {
  fleet.spoke->put(kube::resources::config_maps(), parsed(config_map("seen", "theirs")));
  const auto config = [](const std::string& name, const std::string& strategy) {
    return R"({"resourceIdentifier": {"group": "", "resource": "configmaps", "namespace": "default", "name": ")" + name +
           R"("}, "updateStrategy": )" + strategy + "}";
  };
  put("w1", "[" + config_map("once", "1") + "," + config_map("seen", "2") + "," + config_map("ssa", "3") + "]",
      "{\"manifestConfigs\": [" + config("once", R"({"type": "CreateOnly"})") + "," + config("seen", R"({"type": "ReadOnly"})") +
          "," +
          config("ssa", R"({"type": "ServerSideApply", "serverSideApply": {"force": true, "fieldManager": "work-agent-x"}})") +
          "]}");
  fleet.start_agent();
  wait_applied("w1");
  EXPECT_EQ(value_of(fleet.config_map("seen")), "theirs");
  EXPECT_TRUE(list_at(*fleet.config_map("seen"), {"metadata", "ownerReferences"}).empty());
  EXPECT_EQ(value_of(fleet.config_map("ssa")), "3");
  EXPECT_EQ(list_at(*fleet.config_map("ssa"), {"metadata", "ownerReferences"}).size(), 1U);
  testing::settle(*fleet.hub, *fleet.spoke);
  bool applied = false;
  for (const testkit::ApiCall& call : fleet.spoke->writes()) {
    if (call.name != "ssa" || call.param("fieldManager") != "work-agent-x") continue;
    applied = true;
    EXPECT_EQ(call.param("force"), "true");
  }
  EXPECT_TRUE(applied);
  Json once = *fleet.config_map("once");
  once["data"]["v"] = "changed";
  meddle(kube::resources::config_maps(), once);
  testing::settle(*fleet.hub, *fleet.spoke);
  EXPECT_EQ(value_of(fleet.config_map("once")), "changed");
  fleet.remove_work("w1");
  EXPECT_TRUE(eventually([&] { return fleet.is_gone("w1"); }));
  EXPECT_TRUE(fleet.config_map("seen"));
  EXPECT_FALSE(fleet.config_map("once"));
}

TEST_F(WorkAgent, AWriteRightAfterTheCreationCostsNoIgnoredField) {
  put("w1", "[" + config_map("ssa", "1") + "]",
      R"({"manifestConfigs": [{"resourceIdentifier": {"group": "", "resource": "configmaps", "namespace": "default", "name": "ssa"},
          "updateStrategy": {"type": "ServerSideApply", "serverSideApply": {"force": true,
            "ignoreFields": [{"condition": "OnSpokePresent", "jsonPointers": ["/data/v"]}]}}}]})");
  std::atomic<bool> raced = false;
  fleet.spoke->on_request([&](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    const bool owners = call.name == "ssa" && call.content_type.find("merge-patch") != std::string::npos;
    if (owners && !raced.exchange(true)) {
      Json live = *fleet.config_map("ssa");
      live["metadata"]["annotations"]["example.com/seen"] = "yes";
      fleet.spoke->put(kube::resources::config_maps(), live);
    }
    return std::nullopt;
  });
  fleet.start_agent();
  wait_applied("w1");
  testing::settle(*fleet.hub, *fleet.spoke);
  EXPECT_TRUE(raced);
  EXPECT_EQ(list_at(*fleet.config_map("ssa"), {"metadata", "ownerReferences"}).size(), 1U);
  int applies = 0;
  for (const testkit::ApiCall& call : fleet.spoke->writes()) {
    if (call.name == "ssa" && call.content_type.find("apply-patch") != std::string::npos) ++applies;
  }
  EXPECT_EQ(applies, 1) << "a second one would leave the field out and so reset it";
  EXPECT_EQ(value_of(fleet.config_map("ssa")), "1");
  fleet.stop_agent();
  fleet.spoke->on_request({});
}

TEST_F(WorkAgent, AnExecutorWithoutRightsGetsNothingWritten) {
  fleet.spoke->on_review([](const Json& spec) { return str(spec, {"resourceAttributes", "verb"}) != "create"; });
  put("w1", "[" + config_map("a", "1") + "]",
      R"({"executor": {"subject": {"type": "ServiceAccount", "serviceAccount": {"namespace": "n", "name": "sa"}}}})");
  fleet.start_agent();
  ASSERT_TRUE(eventually([&] { return fleet.condition("w1", "Applied") == "False"; }));
  const Json work = *fleet.work("w1");
  const Json& entry = list_at(work, {"status", "resourceStatus", "manifests"})[0];
  EXPECT_EQ(str(*condition_in(list_at(entry, {"conditions"}), "Applied"), {"message"}),
            "Failed to apply manifest: not allowed to apply the resource  configmaps, default a, will try again in 1m0s");
  EXPECT_FALSE(fleet.config_map("a"));
}

TEST_F(WorkAgent, EvictsWhatNoWorkStandsFor) {
  fleet.options.eviction_grace = std::chrono::milliseconds(100);
  put("w1", "[" + config_map("a", "1") + "]");
  fleet.start_agent();
  wait_applied("w1");
  testing::settle(*fleet.hub, *fleet.spoke);  // the hub is told before the inventory
  ASSERT_TRUE(fleet.hub->erase(api::manifest_works(), testing::kCluster, "w1"));
  EXPECT_TRUE(eventually([&] { return fleet.is_gone("w1") && !fleet.config_map("a"); }));
}

TEST_F(WorkAgent, AnEvictionBeginsAgainAfterAGraceWithoutEnd) {
  const auto since = [&] {
    const auto applied = fleet.applied_work("w1");
    return applied ? str(*applied, {"status", "evictionStartTime"}) : std::string("<absent>");
  };
  fleet.options.eviction_grace = std::chrono::hours(1);
  put("w1", "[" + config_map("a", "1") + "]");
  fleet.start_agent();
  wait_applied("w1");
  ASSERT_TRUE(fleet.hub->erase(api::manifest_works(), testing::kCluster, "w1"));
  EXPECT_TRUE(eventually([&] { return since().starts_with("20"); })) << since();
  fleet.stop_agent();
  fleet.options.eviction_grace = std::chrono::hours(24) * 365 * 100;
  fleet.start_agent();
  EXPECT_TRUE(eventually([&] { return since().empty(); })) << since();
  EXPECT_TRUE(fleet.config_map("a"));
}

TEST_F(WorkAgent, LeavesOtherAgentsAppliedWorksAlone) {
  Json foreign = parsed(R"({"apiVersion": "work.open-cluster-management.io/v1", "kind": "AppliedManifestWork",
      "metadata": {"name": "other-w9"}, "spec": {"hubHash": "other", "agentID": "other", "manifestWorkName": "w9"}})");
  fleet.spoke->put(api::applied_manifest_works(), foreign);
  fleet.options.eviction_grace = Duration::zero();
  fleet.start_agent();
  testing::settle(*fleet.hub, *fleet.spoke);
  EXPECT_EQ(fleet.writes_of_agent(), 0);
}

// Killed after each single write, and started again: the same end as an undisturbed run.
void bring_up(Fleet& fleet) {
  fleet.hub->put(api::manifest_works(),
                 work_of("w1", "[" + config_map("a", "1") + "," + config_map("b", "1") + "," + deployment("web", 1) + "]"));
}

Json undisturbed() {
  Fleet fleet;
  bring_up(fleet);
  fleet.start_agent();
  EXPECT_TRUE(eventually([&] { return fleet.is_applied("w1"); }));
  testing::settle(*fleet.hub, *fleet.spoke);
  return fleet.state();
}

TEST_F(WorkAgent, TellsWhyADeploymentIsNotReadyAndWhenItIs) {
  put("w1", "[" + config_map("a", "1") + "," + deployment("web", 1) + "]");
  fleet.start_agent();
  wait_applied("w1");
  EXPECT_TRUE(eventually([&] { return fleet.condition("w1", std::string(kConditionReady)) == "False"; }));
  EXPECT_EQ(fleet.condition("w1", "Available"), "True");
  const kube::Resource deployments{"apps", "v1", "deployments", "Deployment", true};
  fleet.spoke->put(kube::resources::pods(), parsed(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1-x",
      "namespace": "default", "labels": {"app": "web"}, "ownerReferences": [{"kind": "ReplicaSet", "name": "web-1", "uid": "u"}]},
      "status": {"phase": "Pending", "containerStatuses": [{"name": "c", "state": {"waiting":
        {"reason": "ImagePullBackOff", "message": "no such image"}}}]}})"));
  const auto set_status = [&](const char* status) {
    Json live = *fleet.spoke->client().find(deployments, "default", "web").value();
    live["status"] = parsed(status);
    live["status"]["observedGeneration"] = num(live, {"metadata", "generation"});
    at_or_make(live, {"spec", "selector", "matchLabels", "app"}) = "web";
    fleet.spoke->put(deployments, std::move(live));
  };
  set_status(R"({"replicas": 1, "updatedReplicas": 1})");
  EXPECT_TRUE(eventually([&] {
    return fleet.condition("w1", std::string(kConditionReady), "message").find("pod web-1-x: ImagePullBackOff: container c") !=
           std::string::npos;
  })) << dump_json(*fleet.work("w1"));
  set_status(R"({"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1})");
  EXPECT_TRUE(eventually([&] { return fleet.condition("w1", std::string(kConditionReady)) == "True"; }));
}

TEST(CrashWhileApplying, AfterEveryWriteTheEndIsTheSame) {
  const Json wanted = undisturbed();
  for (int k = 0; k < 12; ++k) {
    Fleet fleet;
    bring_up(fleet);
    fleet.start_agent(k);
    eventually([&] { return fleet.writes_of_agent() >= k; }, std::chrono::seconds(2));
    testing::settle(*fleet.hub, *fleet.spoke);
    fleet.start_agent();
    EXPECT_TRUE(eventually([&] { return fleet.is_applied("w1"); })) << "killed after write " << k;
    testing::settle(*fleet.hub, *fleet.spoke);
    EXPECT_EQ(fleet.state(), wanted) << "killed after write " << k;
    if (fleet.writes_of_agent() == 0) break;  // the first life finished everything
  }
}

TEST(CrashWhileDeleting, AfterEveryWriteTheEndIsTheSame) {
  for (int k = 0; k < 14; ++k) {
    Fleet fleet;
    bring_up(fleet);
    fleet.start_agent();
    ASSERT_TRUE(eventually([&] { return fleet.is_applied("w1"); }));
    testing::settle(*fleet.hub, *fleet.spoke);
    fleet.stop_agent();
    fleet.remove_work("w1");
    fleet.start_agent(k);
    eventually([&] { return fleet.writes_of_agent() >= k; }, std::chrono::seconds(2));
    testing::settle(*fleet.hub, *fleet.spoke);
    fleet.start_agent();
    EXPECT_TRUE(eventually([&] { return fleet.is_gone("w1"); })) << "killed after write " << k;
    const Json state = fleet.state();
    for (const auto& [kind, objects] : state.items()) EXPECT_TRUE(objects.empty()) << kind << " left, killed after write " << k;
    if (fleet.writes_of_agent() == 0) break;
  }
}

TEST(LostAnswers, OfAnyWriteChangeNothing) {
  const Json wanted = undisturbed();
  for (const char* verb : {"create", "patch", "update"}) {
    Fleet fleet;
    bring_up(fleet);
    fleet.spoke->lose_answer_of_next(verb, "", 2);
    fleet.hub->lose_answer_of_next(verb, "", 2);
    fleet.start_agent();
    EXPECT_TRUE(eventually([&] { return fleet.is_applied("w1"); })) << verb;
    testing::settle(*fleet.hub, *fleet.spoke);
    EXPECT_EQ(fleet.state(), wanted) << verb;
  }
}

}  // namespace
}  // namespace fleetadm::work
