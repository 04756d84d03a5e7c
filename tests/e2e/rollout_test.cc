// Rollouts on real servers: a hub and four spokes with our agents. Canary then the rest, failing clusters stop it at its limit,
// undo returns every cluster, a hub killed at every write ends the same, and a pause holds meanwhile. The hub's audit log tells
// whether the limits held at every instant; what counts is read from the spokes.
#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>
#include <utility>

#include "tests/e2e/rollout_end.h"
#include "tests/e2e/rollout_fleet.h"

namespace fleetadm::testkit {
namespace {

using Names = RolloutFleet::Names;
using std::chrono::seconds;

const Names kAll{"c1", "c2", "c3", "c4"};
const Json kCanaryFirst = Json::array({{{"groupName", "canary"}}});
constexpr seconds kHeld{60};

Json of_template(const Json& manifest_work_template) { return {{"spec", {{"manifestWorkTemplate", manifest_work_template}}}}; }

class Rollouts : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    auto started = RolloutFleet::start();
    ASSERT_TRUE(started) << started.error().message;
    fleet() = std::move(*started);
    const Status made =
        fleet()->create_set("web", rollout_template("web", "1", true),
                            {{"maxConcurrency", 2}, {"minSuccessTime", "2s"}, {"mandatoryDecisionGroups", kCanaryFirst}});
    ASSERT_TRUE(made) << made.error().message;
  }
  static void TearDownTestSuite() { fleet().reset(); }
  void SetUp() override {
    FLEETADM_NEEDS_KUBE_SERVERS();
    if (!fleet()) GTEST_FAIL() << "the fleet did not start";
    if (!fleet()->hub_runs()) {
      const Status started = fleet()->start_hub();
      ASSERT_TRUE(started) << started.error().message;
    }
  }

  static std::unique_ptr<RolloutFleet>& fleet() {
    static std::unique_ptr<RolloutFleet> the_fleet;
    return the_fleet;
  }
  static KubeServer& hub() { return fleet()->hub(); }

  static void change(const std::string& set, const Json& patch) {
    const Status changed = fleet()->change(set, patch);
    ASSERT_TRUE(changed) << changed.error().message;
  }
  static void expect_within(std::uintmax_t position, const RolloutLimits& limits, const std::vector<std::string>& order,
                            const std::string& what = {}) {
    RolloutCourse course = rollout_course(hub().audit_since(position), limits);
    EXPECT_EQ(course.breaches, std::vector<std::string>{}) << what;
    // Clusters that begin together may do so in either order.
    std::sort(course.order.begin(), course.order.end());
    EXPECT_EQ(course.order, order) << what;
  }
  /// What the spokes have of a set: by cluster, data.v of its ConfigMap, and V of its Deployment's pods where all of them run.
  static std::map<std::string, std::string> maps(const std::string& set) {
    std::map<std::string, std::string> values;
    for (int i = 1; i <= RolloutFleet::kSpokes; ++i) {
      const Json map = fleet()->spoke(i).get("/api/v1/namespaces/default/configmaps/" + set);
      values["c" + std::to_string(i)] = str(map, {"data", "v"});
    }
    return values;
  }
  static std::map<std::string, std::string> deployments(const std::string& set) {
    std::map<std::string, std::string> values;
    for (int i = 1; i <= RolloutFleet::kSpokes; ++i) {
      const Json live = fleet()->spoke(i).get("/apis/apps/v1/namespaces/default/deployments/" + set);
      const bool all = num(live, {"status", "observedGeneration"}) == num(live, {"metadata", "generation"}) &&
                       num(live, {"status", "updatedReplicas"}) == 1 && num(live, {"status", "availableReplicas"}) == 1 &&
                       num(live, {"status", "replicas"}) == 1;
      const Json& containers = list_at(live, {"spec", "template", "spec", "containers"});
      const std::string value = containers.empty() ? std::string() : str(list_at(containers[0], {"env"})[0], {"value"});
      values["c" + std::to_string(i)] = all ? value : "not all of " + value;
    }
    return values;
  }
  static std::map<std::string, std::string> everywhere(const std::string& value) {
    std::map<std::string, std::string> values;
    for (const std::string& name : kAll) values[name] = value;
    return values;
  }
};

TEST_F(Rollouts, A_CanaryThenTheRest) {
  Ran done = fleet()->wait_for_end("web");
  ASSERT_EQ(done.code, 0) << done.both();
  const auto position = hub().audit_position();
  change("web", of_template(rollout_template("web", "2", true)));
  done = fleet()->wait_for_end("web");
  ASSERT_EQ(done.code, 0) << done.both();
  EXPECT_EQ(fleet()->with("web", "2"), kAll);
  EXPECT_EQ(maps("web"), everywhere("2"));
  EXPECT_EQ(deployments("web"), everywhere("2"));
  expect_within(position, {"apps.web", "2", 2, 0, "c1", RolloutFleet::kHubUser}, {"c1", "c2", "c3", "c4"});
}

TEST_F(Rollouts, B_AFailingClusterStopsItAndUndoReturnsEveryCluster) {
  // c3 succeeds beside c2, and is watched for two seconds: until then the failure of c2 is known, and nothing follows.
  auto position = hub().audit_position();
  change("web", of_template(rollout_template("web", "3 but not c2", true)));
  Ran ended = fleet()->wait_for_end("web");
  EXPECT_EQ(ended.code, 1) << ended.both();
  std::this_thread::sleep_for(seconds(3));
  EXPECT_EQ(fleet()->with("web", "3 but not c2"), (Names{"c1", "c2", "c3"}));
  expect_within(position, {"apps.web", "3 but not c2", 2, 0, "c1", RolloutFleet::kHubUser}, {"c1", "c2", "c3"});
  const Ran status = fleet()->rollout({"status", "web", "-o", "json"});
  EXPECT_EQ(str(status.json(), {"state"}), "Failed") << status.both();
  EXPECT_NE(str(status.json(), {"blocking"}).find("c2"), std::string::npos) << status.both();
  EXPECT_NE(str(status.json(), {"blocking"}).find("not on this cluster"), std::string::npos) << status.both();
  EXPECT_EQ(deployments("web"), (std::map<std::string, std::string>{
                                    {"c1", "3 but not c2"}, {"c2", "3 but not c2"}, {"c3", "3 but not c2"}, {"c4", "2"}}));

  position = hub().audit_position();
  const Ran undone = fleet()->rollout({"undo", "web"});
  ASSERT_EQ(undone.code, 0) << undone.both();
  ended = fleet()->wait_for_end("web");
  EXPECT_EQ(ended.code, 0) << ended.both();
  EXPECT_EQ(maps("web"), everywhere("2"));
  EXPECT_EQ(deployments("web"), everywhere("2"));
  Json items;
  const auto told = [&] {  // the outcome is the hub's last write
    items = list_at(fleet()->rollout({"history", "web", "-o", "json"}).json(), {"items"});
    return items.size() == 4 && str(items[3], {"outcome"}) == "Complete";
  };
  ASSERT_TRUE(eventually(told)) << items.dump(1) << fleet()->hub_log();
  EXPECT_EQ(str(items[2], {"outcome"}), "Superseded");
  EXPECT_EQ(num(items[3], {"copiedFrom"}), 2);
  EXPECT_FALSE(str(items[3], {"by"}).empty());
}

/// One kind of rollout of the set "quick", done over and over: with a hub that nobody disturbs, then with hubs that are killed.
struct Kind {
  std::string name;
  std::string but;  // what its values name beside a number: the clusters that refuse them
  Json progressive;
  std::size_t concurrency = 1;
  std::size_t failures = 0;
  std::vector<std::string> order;  // the clusters that are begun
  std::string sentence;            // of the set's condition at the end
  std::string undisturbed = {};    // how it ends
  int kills = 0;
  bool exhausted = false;  // a hub came to the end before its k-th write

  /// A write for each cluster that is begun, and one for how it ended; statuses between may fall together.
  int fewest_writes() const { return static_cast<int>(order.size()) + 1; }
};

/// The rollouts of "quick", one after the other: each value is new.
class Quick {
 public:
  explicit Quick(RolloutFleet& fleet) : fleet_(fleet) {}

  /// Changes the template while no hub runs.
  void change(const Kind& kind) {
    fleet_.kill_hub();
    position_ = fleet_.hub().audit_position();
    former_ = std::exchange(value_, std::to_string(++number_) + kind.but);
    Json patch = of_template(rollout_template("quick", value_, false));
    patch["spec"]["placementRefs"] =
        Json::array({{{"name", "all"}, {"rolloutStrategy", {{"type", "Progressive"}, {"progressive", kind.progressive}}}}});
    const Status changed = fleet_.change("quick", patch);
    ASSERT_TRUE(changed) << changed.error().message;
  }
  void start(int die_after) {
    const Status started = fleet_.start_hub(die_after);
    ASSERT_TRUE(started) << started.error().message;
  }
  std::string end() { return end_of_rollout(fleet_, "quick", value_, former_); }
  /// Waits until it has ended as `kind` does, or (where asked for) the hub has died.
  bool ends(const Kind& kind, bool or_dies) {
    return eventually([&] { return (or_dies && !fleet_.hub_runs()) || end() == kind.undisturbed; }, seconds(60),
                      std::chrono::milliseconds(150));
  }
  void expect_the_same(const Kind& kind, const std::string& what) {
    if (!ends(kind, false)) {
      EXPECT_EQ(end(), kind.undisturbed) << what;
    }
    const RolloutCourse course =
        rollout_course(fleet_.hub().audit_since(position_),
                       {"apps.quick", value_, kind.concurrency, kind.failures, "c1", RolloutFleet::kHubUser});
    EXPECT_EQ(course.breaches, std::vector<std::string>{}) << what;
    EXPECT_EQ(sorted(course.order), kind.order) << what;
  }
  void undisturbed(Kind& kind) {
    change(kind);
    start(0);
    std::string before;  // it is at its end when that was said, and nothing has changed for a second
    const auto settled = [&] {
      kind.undisturbed = end();
      return kind.undisturbed.find(kind.sentence) != std::string::npos &&
             kind.undisturbed == std::exchange(before, kind.undisturbed);
    };
    ASSERT_TRUE(eventually(settled, seconds(60), seconds(1))) << kind.name << ": " << kind.undisturbed;
    expect_the_same(kind, kind.name + ", undisturbed");
  }
  void killed_after(Kind& kind, int k) {
    const std::string what = kind.name + ", killed after write " + std::to_string(k);
    change(kind);
    start(k);
    ASSERT_TRUE(ends(kind, true)) << what << ": " << end();
    kind.exhausted = fleet_.hub_runs();
    kind.kills += kind.exhausted ? 0 : 1;
    if (!kind.exhausted) start(0);
    expect_the_same(kind, what);
  }
  void killed_after_each(const Kind& kind) {
    change(kind);
    int lives = 0;
    for (bool died = true; died && lives < 60; ++lives) {
      start(1);
      ASSERT_TRUE(ends(kind, true)) << kind.name << ", life " << lives << ": " << end();
      died = !fleet_.hub_runs();
    }
    EXPECT_GT(lives, kind.fewest_writes()) << "each life but the last has one write";
    expect_the_same(kind, kind.name + ", killed after each write");
  }

 private:
  static std::vector<std::string> sorted(std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    return names;
  }

  RolloutFleet& fleet_;
  int number_ = 1000;
  std::string value_ = "1000";
  std::string former_;
  std::uintmax_t position_ = 0;
};

TEST_F(Rollouts, C_AKilledHubEndsTheSameWithinTheLimitsAndAPauseHoldsMeanwhile) {
  Kind failing{.name = "two of four fail where one may",
               .but = " but not c2, nor c3",
               // What has failed keeps its place among those under way until its deadline.
               .progressive = {{"maxConcurrency", 1},
                               {"maxFailures", 1},
                               {"progressDeadline", "1s"},
                               {"mandatoryDecisionGroups", kCanaryFirst}},
               .concurrency = 1,
               .failures = 1,
               .order = {"c1", "c2", "c3"},
               .sentence = "revision N: 1 of 4 clusters done, 2 timed out (c2, c3), 1 to come"};
  Kind repairing{.name = "all succeed",
                 .but = "",
                 .progressive = {{"maxConcurrency", 2}, {"mandatoryDecisionGroups", kCanaryFirst}},
                 .concurrency = 2,
                 .failures = 0,
                 .order = {"c1", "c2", "c3", "c4"},
                 .sentence = "revision N: 4 of 4 clusters done"};
  for (const char* set : {"held", "quick"}) {
    const Status made = fleet()->create_set(set, rollout_template(set, "1000", false), repairing.progressive);
    ASSERT_TRUE(made) << made.error().message;
    const Ran done = fleet()->wait_for_end(set);
    ASSERT_EQ(done.code, 0) << done.both();
  }
  const Ran paused = fleet()->rollout({"pause", "held"});
  ASSERT_EQ(paused.code, 0) << paused.both();
  // The hub says once that it holds; from then on it writes nothing.
  EXPECT_TRUE(hub().eventually(
      "/apis/work.open-cluster-management.io/v1alpha1/namespaces/apps/manifestworkreplicasets/held", [](const Json& set) {
        const Json& said = list_at(set, {"status", "conditions"});
        return std::any_of(said.begin(), said.end(), [](const Json& one) { return str(one, {"reason"}) == "Paused"; });
      }));
  const auto position = hub().audit_position();
  const auto held_since = std::chrono::steady_clock::now();
  change("held", of_template(rollout_template("held", "1001", false)));
  EXPECT_EQ(fleet()->wait_for_end("held").code, 7);

  Quick quick(*fleet());
  for (Kind* kind : {&failing, &repairing}) {
    quick.undisturbed(*kind);
    if (HasFatalFailure()) return;
  }
  for (const Kind* kind : {&failing, &repairing}) quick.killed_after_each(*kind);
  for (int k = 1; k <= 60 && !(failing.exhausted && repairing.exhausted) && !HasFatalFailure(); ++k) {
    for (Kind* kind : {&failing, &repairing}) quick.killed_after(*kind, k);
  }
  for (const Kind* kind : {&failing, &repairing})
    EXPECT_GE(kind->kills, kind->fewest_writes()) << "the kill switch did not work: " << kind->name;
  RecordProperty("kills", failing.kills + repairing.kills);

  std::this_thread::sleep_until(held_since + kHeld);
  std::size_t others = 0;
  for (const AuditEntry& entry : hub().audit_since(position)) {
    if (!entry.is_write()) continue;
    const bool its = set_of_work(entry.response) == "apps.held" || set_of_work(entry.request) == "apps.held" ||
                     entry.name.starts_with("held") || label_of(entry.response, "fleetadm.io/revision-of") == "held";
    EXPECT_FALSE(its) << entry.user << " " << entry.verb << " " << entry.uri;
    others += set_of_work(entry.response) == "apps.quick" ? 1 : 0;
  }
  EXPECT_GT(others, 20U) << "the hub was at work meanwhile";
  EXPECT_EQ(maps("held"), everywhere("1000"));
  quick.start(0);
  ASSERT_EQ(fleet()->rollout({"resume", "held"}).code, 0);
  const Ran done = fleet()->wait_for_end("held");
  EXPECT_EQ(done.code, 0) << done.both();
  EXPECT_EQ(maps("held"), everywhere("1001"));
}

// As another scheduler, or a person, writes them: the placement's status has no groups, and does not follow the decisions.
TEST_F(Rollouts, D_DecisionsWrittenByHandAreFollowed) {
  const std::string cluster_api = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/apps/";
  const std::string decision = cluster_api + "placementdecisions/by-hand-1";
  const auto patch = [&](const std::string& path, const Json& body) {
    return hub().request("PATCH", path, dump_json(body), "application/merge-patch+json").status;
  };
  const auto decide = [&](const Names& names) {
    Json decisions = Json::array();
    for (const std::string& name : names) decisions.push_back({{"clusterName", name}, {"reason", ""}});
    ASSERT_EQ(patch(decision + "/status", {{"status", {{"decisions", decisions}}}}), 200);
  };
  Json placement{
      {"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
      {"kind", "Placement"},
      {"metadata",
       {{"name", "by-hand"}, {"annotations", {{"cluster.open-cluster-management.io/experimental-scheduling-disable", "true"}}}}},
      {"spec", Json::object()}};
  ASSERT_EQ(hub().create(cluster_api + "placements", placement).status, 201);
  const Json labels{{"cluster.open-cluster-management.io/placement", "by-hand"},
                    {"cluster.open-cluster-management.io/decision-group-index", "0"}};
  ASSERT_EQ(hub()
                .create(cluster_api + "placementdecisions", {{"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
                                                             {"kind", "PlacementDecision"},
                                                             {"metadata", {{"name", "by-hand-1"}, {"labels", labels}}}})
                .status,
            201);
  decide({"c1", "c2", "c3"});
  ASSERT_EQ(patch(cluster_api + "placements/by-hand/status", {{"status", {{"numberOfSelectedClusters", 3}}}}), 200);

  const Status made = fleet()->create_set("by-hand", rollout_template("by-hand", "1", false), {{"maxConcurrency", 1}}, "by-hand");
  ASSERT_TRUE(made) << made.error().message;
  const Ran done = fleet()->wait_for_end("by-hand");
  EXPECT_EQ(done.code, 0) << done.both() << fleet()->hub_log();
  EXPECT_EQ(fleet()->with("by-hand", "1"), (Names{"c1", "c2", "c3"}));
  EXPECT_EQ(maps("by-hand"), (std::map<std::string, std::string>{{"c1", "1"}, {"c2", "1"}, {"c3", "1"}, {"c4", ""}}));
  decide({"c1"});
  EXPECT_TRUE(eventually([&] { return fleet()->with("by-hand", "1") == Names{"c1"}; }, seconds(30))) << fleet()->hub_log();
  EXPECT_TRUE(eventually([&] { return maps("by-hand")["c2"].empty(); }, seconds(30)));
}

/// The manifests of a template, without rules: what is left to tell of a Deployment is whether it is ready.
std::string manifests_file(const std::string& set, const std::string& value) {
  const Json work = rollout_template(set, value, true);
  std::string text;
  for (const Json& manifest : list_at(work, {"workload", "manifests"})) text += "---\n" + dump_json(manifest) + "\n";
  return text;
}

TEST_F(Rollouts, E_AClusterThatNeverGetsReadyStopsItAndUndoHealsIt) {
  const std::string file = (fleet()->folder().path() / "ready.yaml").string();
  const auto start = [&](const std::string& value) {
    std::ofstream(file) << manifests_file("ready", value);
    return fleet()->rollout({"start", "ready", "-f", file, "--placement", "apps/all", "--max-concurrency", "1"});
  };
  Ran ran = start("1");
  ASSERT_EQ(ran.code, 0) << ran.both();
  ran = fleet()->wait_for_end("ready");
  ASSERT_EQ(ran.code, 0) << ran.both();
  EXPECT_EQ(deployments("ready"), everywhere("1"));

  // No node of c3 takes pods any more, and the test tells of the new one what a kubelet would.
  const auto cordon = [&](bool cordoned) {
    for (const Json& node : list_at(fleet()->spoke(3).get("/api/v1/nodes"), {"items"})) {
      const Json patch{{"spec", {{"unschedulable", cordoned}}}};
      EXPECT_EQ(fleet()
                    ->spoke(3)
                    .request("PATCH", "/api/v1/nodes/" + name_of(node), dump_json(patch), "application/merge-patch+json")
                    .status,
                200);
    }
  };
  cordon(true);
  ran = start("2");
  ASSERT_EQ(ran.code, 0) << ran.both();
  std::string pod;
  const auto created = [&] {
    for (const Json& one :
         list_at(fleet()->spoke(3).get("/api/v1/namespaces/default/pods?labelSelector=app%3Dready"), {"items"})) {
      if (str(one, {"spec", "nodeName"}).empty()) pod = name_of(one);
    }
    return !pod.empty();
  };
  ASSERT_TRUE(eventually(created, seconds(60))) << fleet()->hub_log();
  const Json status{
      {"status",
       {{"phase", "Pending"},
        {"containerStatuses",
         Json::array({{{"name", "web"},
                       {"image", "nginx:1.27"},
                       {"imageID", ""},
                       {"ready", false},
                       {"restartCount", 0},
                       {"state", {{"waiting", {{"reason", "ImagePullBackOff"}, {"message", "no such image"}}}}}}})}}}};
  ASSERT_EQ(fleet()
                ->spoke(3)
                .request("PATCH", "/api/v1/namespaces/default/pods/" + pod + "/status", dump_json(status),
                         "application/merge-patch+json")
                .status,
            200);
  Json told;
  const auto says_why = [&] {
    told = fleet()->rollout({"status", "ready", "-o", "json"}).json();
    const std::string why = str(told, {"blocking"});
    return why.starts_with("c3 ") && why.find("pod " + pod + ": ImagePullBackOff") != std::string::npos;
  };
  EXPECT_TRUE(eventually(says_why, seconds(60))) << told.dump(1);
  ran = fleet()->rollout({"status", "ready"});
  EXPECT_EQ(ran.code, 8) << ran.both();
  EXPECT_NE(ran.both().find("False (ImagePullBackOff)"), std::string::npos) << ran.both();
  EXPECT_EQ(fleet()->with("ready", "2"), (Names{"c1", "c2", "c3"}));

  ran = fleet()->rollout({"undo", "ready"});
  ASSERT_EQ(ran.code, 0) << ran.both();
  ran = fleet()->wait_for_end("ready");
  cordon(false);
  EXPECT_EQ(ran.code, 0) << ran.both();
  EXPECT_EQ(deployments("ready"), everywhere("1"));
}

}  // namespace
}  // namespace fleetadm::testkit
