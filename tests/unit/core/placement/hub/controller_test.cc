// The controller against an API server in memory.
#include "core/placement/hub/controller.h"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <thread>

#include "core/api/kinds.h"
#include "tests/support/fake_api.h"
#include "tests/unit/core/placement/fixtures.h"

namespace fleetadm::placement {
namespace {

using testkit::FakeApi;

constexpr auto kPatience = std::chrono::seconds(20);

/// The hub controllers of one process, from start to stop.
class Running {
 public:
  Running(const std::shared_ptr<FakeApi>& api, std::shared_ptr<Clock> clock, std::shared_ptr<kube::WriteGate> gate = nullptr)
      : manager_({.threads = 2, .health_address = {}, .clock = clock}) {
    add_placement_controller(manager_, api->client(std::move(gate)), clock);
    thread_ = std::jthread([this](std::stop_token stop) { static_cast<void>(manager_.run(stop)); });
  }

 private:
  controller::Manager manager_;
  std::jthread thread_;  // stopped and joined before the manager goes
};

class PlacementController : public testing::Test {
 protected:
  void SetUp() override {
    put(fleetadm::test::set_object("s"));
    put(fleetadm::test::binding_object("apps", "s"));
  }

  void put(Json object) {
    static const std::map<std::string, const kube::Resource*> kinds{
        {"ManagedCluster", &api::managed_clusters()},
        {"ManagedClusterSet", &api::managed_cluster_sets()},
        {"ManagedClusterSetBinding", &api::managed_cluster_set_bindings()},
        {"Placement", &api::placements()},
        {"PlacementDecision", &api::placement_decisions()},
        {"AddOnPlacementScore", &api::addon_placement_scores()}};
    const kube::Resource& resource = *kinds.at(str(object, {"kind"}));
    object["apiVersion"] = resource.api_version();
    api->put(resource, std::move(object));
  }
  void put_cluster(const std::string& name, Json labels = Json::object(), Json taints = Json::array()) {
    labels["cluster.open-cluster-management.io/clusterset"] = "s";
    put(fleetadm::test::cluster_object(name, std::move(labels), std::move(taints)));
  }
  void put_placement(Json spec) { put(fleetadm::test::placement_object("apps", "p", std::move(spec))); }

  Json placement() const { return api->get(api::placements(), "apps", "p").value_or(Json()); }
  std::string reason() const {
    const Json object = placement();
    const Json* condition = controller::find_condition(object, "PlacementSatisfied");
    return condition == nullptr ? "" : str(*condition, {"reason"});
  }
  std::map<std::string, std::vector<std::string>> decisions() const {
    std::map<std::string, std::vector<std::string>> all;
    for (const Json& object : api->all(api::placement_decisions())) all[name_of(object)] = decode_decision(object).clusters;
    return all;
  }
  using Decisions = std::map<std::string, std::vector<std::string>>;

  template <class Done>
  bool eventually(Done done) const {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (!done()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }
  bool settled(const Decisions& wanted, const std::string& why) const {
    return eventually([&] { return decisions() == wanted && reason() == why; });
  }
  /// Writes but events, in one look: events are sent beside the passes.
  int writes_of_results() const {
    const auto writes = api->writes();
    return static_cast<int>(
        std::count_if(writes.begin(), writes.end(), [](const testkit::ApiCall& write) { return write.plural != "events"; }));
  }

  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(fleetadm::test::test_now());
  std::shared_ptr<FakeApi> api = FakeApi::make();
};

TEST_F(PlacementController, ChoosesAndWritesOnce) {
  put_cluster("c1", {{"env", "prod"}});
  put_cluster("c2", {{"env", "dev"}});
  put_placement(
      fleetadm::test::parsed(R"({"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchLabels":{"env":"prod"}}}}]})"));
  Running running(api, clock);
  ASSERT_TRUE(settled({{"p-decision-1", {"c1"}}}, "AllDecisionsScheduled"));
  EXPECT_EQ(num(placement(), {"status", "numberOfSelectedClusters"}), 1);
  const Json object = api->get(api::placement_decisions(), "apps", "p-decision-1").value_or(Json());
  EXPECT_EQ(str(list_at(object, {"metadata", "ownerReferences"}).at(0), {"uid"}), uid_of(placement()));
  EXPECT_EQ(label_of(object, kGroupIndexLabel), "0");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(writes_of_results(), 3) << "create, its entries, the placement's status: passes after that write nothing";
}

TEST_F(PlacementController, FollowsLabelsTaintsAndSets) {
  put_cluster("c1", {{"env", "dev"}});
  put_placement(
      fleetadm::test::parsed(R"({"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchLabels":{"env":"prod"}}}}]})"));
  Running running(api, clock);
  ASSERT_TRUE(settled({{"p-decision-1", {}}}, "NoManagedClusterMatched"));
  put_cluster("c1", {{"env", "prod"}});
  ASSERT_TRUE(settled({{"p-decision-1", {"c1"}}}, "AllDecisionsScheduled"));
  put_cluster("c1", {{"env", "prod"}}, {{{"key", "cluster.open-cluster-management.io/unreachable"}, {"effect", "NoSelect"}}});
  ASSERT_TRUE(settled({{"p-decision-1", {}}}, "NoManagedClusterMatched"));
  put_cluster("c1", {{"env", "prod"}});
  ASSERT_TRUE(settled({{"p-decision-1", {"c1"}}}, "AllDecisionsScheduled"));
  ASSERT_TRUE(api->erase(api::managed_cluster_set_bindings(), "apps", "s"));
  ASSERT_TRUE(settled({{"p-decision-1", {}}}, "NoManagedClusterSetBindings"));
}

TEST_F(PlacementController, AStatusThatNoStageReadsRunsNothing) {
  put_cluster("c1");
  put_placement(Json::object());
  Running running(api, clock);
  ASSERT_TRUE(settled({{"p-decision-1", {"c1"}}}, "AllDecisionsScheduled"));
  const int before = writes_of_results();
  Json cluster = fleetadm::test::cluster_object("c1", {{"cluster.open-cluster-management.io/clusterset", "s"}});
  for (int i = 0; i < 20; ++i) {
    cluster["status"] = {{"version", {{"kubernetes", "v1." + std::to_string(i)}}}};
    put(cluster);
  }
  put_cluster("c2");
  ASSERT_TRUE(settled({{"p-decision-1", {"c1", "c2"}}}, "AllDecisionsScheduled"));
  ASSERT_TRUE(eventually([&] { return num(placement(), {"status", "numberOfSelectedClusters"}) == 2; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(writes_of_results() - before, 2) << "entries and status";
}

TEST_F(PlacementController, TolerationRunsOut) {
  put_cluster("c1", Json::object(), {{{"key", "k"}, {"effect", "NoSelect"}, {"timeAdded", fleetadm::test::seconds_from_now(0)}}});
  put_placement(fleetadm::test::parsed(R"({"tolerations":[{"key":"k","operator":"Exists","tolerationSeconds":1}]})"));
  const auto real = Clock::system();
  // The queue's timers run on real time, so this test's clock does as well.
  Json cluster =
      fleetadm::test::cluster_object("c1", {{"cluster.open-cluster-management.io/clusterset", "s"}},
                                     {{{"key", "k"}, {"effect", "NoSelect"}, {"timeAdded", format_time(real->now())}}});
  put(cluster);
  Running running(api, real);
  ASSERT_TRUE(settled({{"p-decision-1", {}}}, "NoManagedClusterMatched")) << "nothing but the time changed";
}

TEST_F(PlacementController, MisconfigurationEmptiesAndIsTold) {
  put_cluster("c1");
  put_placement(Json::object());
  Running running(api, clock);
  ASSERT_TRUE(settled({{"p-decision-1", {"c1"}}}, "AllDecisionsScheduled"));
  Json wrong = placement();
  wrong["spec"] = fleetadm::test::parsed(R"({"prioritizerPolicy":{"mode":"Fancy"}})");
  api->put(api::placements(), wrong);
  ASSERT_TRUE(settled({{"p-decision-1", {}}}, "NoManagedClusterMatched"));
  EXPECT_TRUE(controller::condition_is(placement(), "PlacementMisconfigured", "True"));
}

TEST_F(PlacementController, ANameThatCannotBeALabelIsTold) {
  put_cluster("c1");
  put_placement(Json::object());
  const std::string name(70, 'n');
  put(fleetadm::test::placement_object("apps", name, fleetadm::test::parsed(R"({"prioritizerPolicy":{"mode":"Exact"}})")));
  Running running(api, clock);
  const auto stored = [&] { return api->get(api::placements(), "apps", name).value_or(Json()); };
  ASSERT_TRUE(eventually([&] { return controller::condition_is(stored(), "PlacementSatisfied", "False"); }));
  const Json object = stored();
  EXPECT_EQ(str(*controller::find_condition(object, "PlacementSatisfied"), {"message"}),
            "the placement's name cannot be a label of its decisions: must be no more than 63 bytes");
  EXPECT_EQ(num(object, {"status", "numberOfSelectedClusters"}, -1), 0);
  ASSERT_TRUE(settled({{"p-decision-1", {"c1"}}}, "AllDecisionsScheduled")) << "no decisions but those of the other";
}

TEST_F(PlacementController, AWriteThatFailsIsTriedAgain) {
  put_cluster("c1");
  api->fail_next("create", "placementdecisions", 500, "InternalError", 1);
  api->fail_next("patch", "placementdecisions", 409, "Conflict", 2);
  api->lose_answer_of_next("create", "placementdecisions");
  put_placement(Json::object());
  Running running(api, clock);
  ASSERT_TRUE(settled({{"p-decision-1", {"c1"}}}, "AllDecisionsScheduled")) << "P70";
}

TEST_F(PlacementController, AFailedListUnselectsNothing) {
  put_cluster("c1");
  put_placement(Json::object());
  {
    Running running(api, clock);
    ASSERT_TRUE(settled({{"p-decision-1", {"c1"}}}, "AllDecisionsScheduled"));
  }
  api->forget_calls();
  for (const char* plural : {"managedclusters", "managedclustersets", "managedclustersetbindings"}) {
    api->fail_next("watch", plural, 500, "InternalError", 2);
    api->fail_next("list", plural, 500, "InternalError", 2);
  }
  Running again(api, clock);
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_EQ(decisions(), (Decisions{{"p-decision-1", {"c1"}}}));
  for (const auto& call : api->writes()) EXPECT_NE(call.plural, "placementdecisions") << call.verb << " " << call.path;
}

TEST_F(PlacementController, ARestartWritesNothing) {
  for (int i = 0; i < 5; ++i) put_cluster("c" + std::to_string(i));
  put_placement({{"numberOfClusters", 3}, {"decisionStrategy", {{"groupStrategy", {{"clustersPerDecisionGroup", 2}}}}}});
  {
    Running running(api, clock);
    ASSERT_TRUE(settled({{"p-decision-1", {"c0", "c1"}}, {"p-decision-2", {"c2"}}}, "AllDecisionsScheduled"));
  }
  api->forget_calls();
  Running again(api, clock);
  ASSERT_TRUE(eventually([&] { return api->open_watches() >= 6; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(api->write_count(), 0);
}

TEST_F(PlacementController, ADisabledPlacementIsLeftAlone) {
  put_cluster("c1");
  Json object = fleetadm::test::placement_object("apps", "p", Json::object());
  object["metadata"]["annotations"] = {{std::string(kDisableAnnotation), "true"}};
  put(object);
  put(fleetadm::test::placement_object("apps", "other", Json::object()));
  Running running(api, clock);
  ASSERT_TRUE(eventually([&] { return decisions().contains("other-decision-1"); }));
  EXPECT_FALSE(decisions().contains("p-decision-1"));
}

TEST_F(PlacementController, AClusterThatMovesBetweenDecisionsIsAlwaysInOne) {
  for (int i = 0; i < 101; ++i) put_cluster("m" + std::to_string(1000 + i));
  put_placement(Json::object());
  Running running(api, clock);
  ASSERT_TRUE(eventually(
      [&] { return decisions().size() == 2 && decisions()["p-decision-2"].size() == 1 && reason() == "AllDecisionsScheduled"; }));
  std::atomic<int> holes{0};
  api->on_request([&](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (!call.is_write()) return std::nullopt;
    std::set<std::string> seen;
    for (const auto& [name, clusters] : decisions()) seen.insert(clusters.begin(), clusters.end());
    for (int i = 0; i < 101; ++i) holes += seen.contains("m" + std::to_string(1000 + i)) ? 0 : 1;
    return std::nullopt;
  });
  put_cluster("a-new");
  ASSERT_TRUE(eventually([&] {
    return decisions()["p-decision-2"] == std::vector<std::string>{"m1099", "m1100"} &&
           num(placement(), {"status", "numberOfSelectedClusters"}) == 102;
  }));
  api->on_request(nullptr);
  EXPECT_EQ(holes, 0);
}

TEST_F(PlacementController, AScoreRunsOut) {
  put_cluster("c1");
  put_cluster("c2");
  const auto real = Clock::system();  // the queue's timers run on real time
  put({{"kind", "AddOnPlacementScore"},
       {"metadata", {{"name", "demo"}, {"namespace", "c2"}}},
       {"status",
        {{"scores", {{{"name", "s"}, {"value", 90}}}}, {"validUntil", format_time(real->now() + std::chrono::seconds(2))}}}});
  put_placement(fleetadm::test::parsed(R"({"numberOfClusters":1,"prioritizerPolicy":{"mode":"Exact","configurations":[
      {"scoreCoordinate":{"type":"AddOn","addOn":{"resourceName":"demo","scoreName":"s"}},"weight":1}]}})"));
  Running running(api, real);
  ASSERT_TRUE(settled({{"p-decision-1", {"c2"}}}, "AllDecisionsScheduled"));
  ASSERT_TRUE(settled({{"p-decision-1", {"c1"}}}, "AllDecisionsScheduled")) << "nothing but the time changed";
  const int before = writes_of_results();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(writes_of_results(), before) << "an expired score is no failure that is tried for ever";
}

TEST_F(PlacementController, PlacementsAreWrittenSideBySide) {
  put_cluster("c1");
  for (int i = 0; i < 6; ++i) put(fleetadm::test::placement_object("apps", "p" + std::to_string(i), Json::object()));
  std::atomic<int> open{0};
  std::atomic<int> most{0};
  api->on_request([&](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (call.verb != "create" || call.plural != "placementdecisions") return std::nullopt;
    const int now = ++open;
    int seen = most;
    while (seen < now && !most.compare_exchange_weak(seen, now)) {
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (most < 2 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --open;
    return std::nullopt;
  });
  {
    Running running(api, clock);
    ASSERT_TRUE(eventually([&] { return decisions().size() == 6; }));
  }
  api->on_request(nullptr);
  EXPECT_GE(most, 2);
}

TEST_F(PlacementController, ADecisionThatWasNotSeenIsNotOverwritten) {
  put_cluster("c1");
  put_placement(Json::object());
  Running running(api, clock);
  ASSERT_TRUE(settled({{"p-decision-1", {"c1"}}}, "AllDecisionsScheduled"));
  // The cache of decisions falls behind: somebody else's change does not arrive, and a new cluster asks for a write.
  std::atomic<bool> deaf{true};
  api->on_request([&](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    const bool reads = call.verb == "watch" || call.verb == "list";
    if (deaf && reads && call.plural == "placementdecisions") return kube::Response{503, {}, ""};
    return std::nullopt;
  });
  api->break_watches();
  put(fleetadm::test::decision_object("apps", "p-decision-1", "p", {"c1", "other"}));
  const auto held = decisions();
  put_cluster("c2");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(decisions(), held) << "a write over a version that was not seen has to be refused";
  deaf = false;
  ASSERT_TRUE(settled({{"p-decision-1", {"c1", "c2"}}}, "AllDecisionsScheduled"));
  api->on_request(nullptr);
}

TEST_F(PlacementController, ARestartOverAFullHouseWritesNothing) {
  for (int i = 0; i < 450; ++i) put_cluster("c" + std::to_string(1000 + i));
  put_placement(Json::object());
  {
    Running running(api, clock);
    ASSERT_TRUE(eventually([&] { return decisions().size() == 5 && reason() == "AllDecisionsScheduled"; }));
    ASSERT_TRUE(eventually([&] { return num(placement(), {"status", "numberOfSelectedClusters"}) == 450; }));
  }
  for (int round = 0; round < 3; ++round) {
    api->forget_calls();
    Running again(api, clock);
    ASSERT_TRUE(eventually([&] { return api->open_watches() >= 6; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    EXPECT_EQ(api->write_count(), 0) << "a cache that is being filled is not the fleet";
  }
}

TEST_F(PlacementController, KilledAfterAnyWriteItEndsTheSame) {
  // Two groups, one of which goes away: creates, labels, entries, a delete and the status are all among the writes.
  const auto start = [&] {
    for (const Json& object : api->all(api::placement_decisions()))
      api->erase(api::placement_decisions(), "apps", name_of(object));
    put(fleetadm::test::decision_object("apps", "p-decision-1", "p", {"c3", "gone"}));
    put(fleetadm::test::decision_object("apps", "p-decision-7", "p", {"c1"}));
    put_placement({{"decisionStrategy", {{"groupStrategy", {{"clustersPerDecisionGroup", 2}}}}}});
  };
  for (const char* name : {"c1", "c2", "c3"}) put_cluster(name);
  const Decisions wanted{{"p-decision-1", {"c1", "c2"}}, {"p-decision-2", {"c3"}}};
  int needed = 0;
  for (int limit = 1; limit < 20; ++limit) {
    start();
    auto gate = std::make_shared<kube::WriteGate>();
    auto left = std::make_shared<std::atomic<int>>(limit);
    auto tried = std::make_shared<std::atomic<bool>>(false);
    gate->before = [left, tried](kube::Method, std::string_view path) -> Status {
      if (path.find("/events") != std::string_view::npos) return {};
      if (left->fetch_sub(1) > 0) return {};
      *tried = true;
      return fail(Category::kUnavailable, "killed");
    };
    {
      Running killed(api, clock, gate);
      ASSERT_TRUE(eventually([&] { return *tried || (decisions() == wanted && reason() == "AllDecisionsScheduled"); })) << limit;
    }
    if (!*tried) {
      needed = limit;
      break;
    }
    Running again(api, clock);
    ASSERT_TRUE(settled(wanted, "AllDecisionsScheduled")) << "killed after " << limit << " writes";
  }
  EXPECT_GE(needed, 5);
}

}  // namespace
}  // namespace fleetadm::placement
