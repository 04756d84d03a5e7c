// Leases, clocks, taints, sets and clean-up against a server in memory.
#include "core/api/cluster_lease.h"
#include "core/api/push_member.h"
#include "core/registration/hub/lease_rules.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"
#include "tests/unit/core/registration/hub_fixture.h"

namespace fleetadm::registration::hub {
namespace {

using namespace std::chrono_literals;

Instant at(const char* text) { return *parse_time(text); }

std::set<std::string> taints(const Json& cluster) {
  std::set<std::string> all;
  for (const Json& taint : list_at(cluster, {"spec", "taints"})) {
    all.insert(str(taint, {"key"}) + ":" + str(taint, {"effect"}) + ":" + str(taint, {"timeAdded"}));
  }
  return all;
}

TEST(LeaseRules, GraceIsFiveLeaseDurations) {
  const auto of = [](Json value) { return api::lease_grace({{"spec", {{"leaseDurationSeconds", std::move(value)}}}}); };
  EXPECT_EQ(of(60), 300s);
  EXPECT_EQ(of(1), 5s);
  EXPECT_EQ(of(0), 300s);
  EXPECT_EQ(of(-5), 300s);
  EXPECT_EQ(of("x"), 300s);
  EXPECT_EQ(of(std::int64_t{1} << 60), std::chrono::hours(5LL * 10 * 365 * 24));
  EXPECT_EQ(api::lease_grace(Json::object()), 300s);
}

TEST(LeaseRules, ExpiryByTable) {
  const Instant now = at("2026-01-01T01:00:00Z");
  const auto lease = [](const char* renewed) { return Json{{"spec", {{"renewTime", renewed}}}}; };
  struct {
    const char* renewed;
    Instant seen;
    bool expired;
    Duration look_again;
  } const table[] = {
      {"2026-01-01T01:00:00.000000Z", now, false, 300s + 1ns},
      {"2026-01-01T00:59:00.000000Z", now, false, 240s + 1ns},
      {"2026-01-01T00:55:00.000000Z", now, false, 1ns},
      {"2026-01-01T00:54:59.999999Z", now, true, 300s},
      {"2025-01-01T00:00:00Z", now, true, 300s},
      {"1700-01-01T00:00:00Z", now, true, 300s},
      {"garbage", now, true, 300s},
      // A clock that is ahead: what counts is when the hub saw it.
      {"2030-01-01T00:00:00Z", now - 60s, false, 240s + 1ns},
      {"2030-01-01T00:00:00Z", now - 301s, true, 300s},
  };
  for (const auto& row : table) {
    const LeaseVerdict verdict = judge_lease(lease(row.renewed), row.seen, 300s, now);
    EXPECT_EQ(verdict.expired, row.expired) << row.renewed;
    EXPECT_EQ(verdict.look_again.count(), row.look_again.count()) << row.renewed;
  }
}

TEST(LeaseRules, ClockByTable) {
  const Instant seen = at("2026-01-01T01:00:00Z");
  struct {
    Duration off;
    bool skip;
    const char* status;
  } const table[] = {{0s, false, "True"},     {300s, false, "True"}, {-300s, false, "True"}, {301s, false, "False"},
                     {-301s, false, "False"}, {900s, true, "True"},  {-900s, true, "True"}};
  for (const auto& row : table) {
    Json cluster = {{"spec", {{"leaseDurationSeconds", 60}}}};
    if (row.skip)
      at_or_make(cluster, {"metadata", "annotations", "registration.open-cluster-management.io/skip-clock-sync-check"}) = "true";
    EXPECT_TRUE(set_clock_verdict(cluster, seen + row.off, seen, seen));
    EXPECT_EQ(hub_condition(cluster, "ManagedClusterConditionClockSynced"), row.status) << row.off.count();
  }
}

TEST(TaintRules, FollowAvailability) {
  const Instant now = at("2026-01-01T00:00:00Z");
  const std::string unreachable = "cluster.open-cluster-management.io/unreachable:NoSelect:2026-01-01T00:00:00Z";
  const std::string unavailable = "cluster.open-cluster-management.io/unavailable:NoSelect:2026-01-01T00:00:00Z";
  struct {
    const char* available;
    std::set<std::string> wanted;
  } const table[] = {{"", {unreachable}}, {"Unknown", {unreachable}}, {"False", {unavailable}}, {"True", {}}};
  for (const auto& from : table) {
    for (const auto& to : table) {
      Json cluster = {{"spec", Json::object()}};
      const auto set = [&](const char* status) {
        cluster["status"]["conditions"] = Json::array();
        if (status[0] != 0)
          cluster["status"]["conditions"].push_back({{"type", "ManagedClusterConditionAvailable"}, {"status", status}});
      };
      set(from.available);
      sync_taints(cluster, now);
      EXPECT_EQ(taints(cluster), from.wanted);
      EXPECT_FALSE(sync_taints(cluster, now + 1h)) << "settled: " << from.available;
      set(to.available);
      sync_taints(cluster, now);
      EXPECT_EQ(taints(cluster), to.wanted) << from.available << " to " << to.available;
    }
  }
}

TEST(TaintRules, APushMemberHasNoneBeforeItsFirstReport) {
  const Instant now = at("2026-01-01T00:00:00Z");
  Json cluster{{"metadata", {{"labels", {{std::string(api::kModeLabel), std::string(api::kPushMode)}}}}},
               {"spec", {{"hubAcceptsClient", true}}}};
  EXPECT_FALSE(sync_taints(cluster, now));
  Json refused = cluster;
  refused["spec"]["hubAcceptsClient"] = false;
  EXPECT_TRUE(sync_taints(refused, now));
  cluster["status"]["conditions"] = Json::array({{{"type", "HubAcceptedManagedCluster"}, {"status", "True"}}});
  EXPECT_TRUE(sync_taints(cluster, now)) << "accepted, and it was not looked at";
  EXPECT_EQ(taints(cluster),
            std::set<std::string>{"cluster.open-cluster-management.io/unreachable:NoSelect:2026-01-01T00:00:00Z"});
}

TEST(TaintRules, KeepWhatPeopleWroteAndStampIt) {
  Json cluster = {{"spec",
                   {{"taints",
                     {{{"key", "gpu"}, {"effect", "NoSelectIfNew"}, {"value", "yes"}},
                      {{"key", "old"}, {"effect", "NoSelect"}, {"timeAdded", "2020-01-01T00:00:00Z"}},
                      {{"key", "nulled"}, {"effect", "PreferNoSelect"}, {"timeAdded", nullptr}}}}}},
                  {"status", {{"conditions", {{{"type", "ManagedClusterConditionAvailable"}, {"status", "True"}}}}}}};
  EXPECT_TRUE(sync_taints(cluster, at("2026-01-01T00:00:00Z")));
  EXPECT_EQ(taints(cluster), (std::set<std::string>{"gpu:NoSelectIfNew:2026-01-01T00:00:00Z", "old:NoSelect:2020-01-01T00:00:00Z",
                                                    "nulled:PreferNoSelect:2026-01-01T00:00:00Z"}));
  EXPECT_EQ(str(list_at(cluster, {"spec", "taints"}).at(0), {"value"}), "yes");
  EXPECT_FALSE(sync_taints(cluster, at("2027-01-01T00:00:00Z")));
}

TEST(CleanupRules, LowestPriorityFirst) {
  const auto item = [](const char* name, const char* priority, bool deleting) {
    Json out = {{"metadata", {{"name", name}}}};
    if (priority != nullptr) out["metadata"]["annotations"]["open-cluster-management.io/cleanup-priority"] = priority;
    if (deleting) out["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    return out;
  };
  const auto names = [](const CleanupRound& round) {
    std::set<std::string> all;
    for (const Json& one : round.to_delete) all.insert(name_of(one));
    return all;
  };
  auto round = plan_cleanup({item("a", "10", false), item("b", nullptr, false), item("c", "x", false), item("d", "101", false),
                             item("e", "-1", false)});
  EXPECT_EQ(names(round), (std::set<std::string>{"b", "c", "d", "e"})) << "an invalid priority is 0";
  EXPECT_EQ(round.remaining, 5u);
  round = plan_cleanup({item("a", "10", false), item("b", nullptr, true)});
  EXPECT_TRUE(round.to_delete.empty()) << "a later priority waits for the earlier one to be gone";
  EXPECT_EQ(round.pending, 1u);
  round = plan_cleanup({item("a", "10", false), item("b", "100", false)});
  EXPECT_EQ(names(round), std::set<std::string>{"a"});
}

TEST_F(HubControllersTest, ReadyOfASilentClusterIsUnknownWhereItWasTold) {
  HubLife hub(api, clock);
  join(hub, "c1");
  join(hub, "c2");
  Json telling = cluster("c1");
  controller::set_condition(telling["status"]["conditions"], api::kConditionReady, "True", "ClusterReady", "", clock->now());
  api->put(api::managed_clusters(), telling);
  ASSERT_TRUE(hub.settle());
  clock->advance(301s);
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(hub_condition(cluster("c1"), "Ready"), "Unknown");
  EXPECT_EQ(hub_condition(cluster("c1"), "Ready", "reason"), "ClusterStatusUnknown");
  EXPECT_EQ(hub_condition(cluster("c2"), "ManagedClusterConditionAvailable"), "Unknown");
  EXPECT_EQ(hub_condition(cluster("c2"), "Ready"), "");
}

TEST_F(HubControllersTest, AClusterThatNeverReportedIsToldApartUntilItDoes) {
  HubLife hub(api, clock);
  put_cluster("c1", true);
  put_cluster("c2", true);
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(hub_condition(cluster("c1"), "Ready"), "") << "its grace is not over";
  clock->advance(301s);
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(hub_condition(cluster("c1"), "Ready"), "Unknown");
  EXPECT_EQ(hub_condition(cluster("c1"), "Ready", "reason"), "ClusterStatusNeverUpdated");
  // An agent that tells Ready itself, and one that does not.
  renew("c1", clock->now());
  renew("c2", clock->now());
  set_joined("c1");
  Json telling = cluster("c1");
  controller::set_condition(telling["status"]["conditions"], "Ready", "True", "ClusterReady", "", clock->now());
  api->put(api::managed_clusters(), telling);
  set_joined("c2");
  set_available("c2", "True");
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(hub_condition(cluster("c1"), "Ready", "reason"), "ClusterReady");
  EXPECT_EQ(hub_condition(cluster("c2"), "Ready"), "");
  EXPECT_EQ(hub_condition(cluster("c2"), "ManagedClusterConditionAvailable"), "True");
}

TEST_F(HubControllersTest, ALeaseThatStopsMakesTheClusterUnknownAndTaintedAtTheExactMoment) {
  HubLife hub(api, clock);
  join(hub, "c1");
  EXPECT_TRUE(taints(cluster("c1")).empty());
  auto outcome = hub.lease->reconcile("c1", {});
  ASSERT_TRUE(outcome && outcome->requeue_after);
  EXPECT_EQ(*outcome->requeue_after, 300s + 1ns);
  clock->advance(300s);
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(hub_condition(cluster("c1"), "ManagedClusterConditionAvailable"), "True") << "at the moment itself it still counts";
  clock->advance(1s);
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(hub_condition(cluster("c1"), "ManagedClusterConditionAvailable"), "Unknown");
  EXPECT_EQ(hub_condition(cluster("c1"), "ManagedClusterConditionAvailable", "reason"), "ManagedClusterLeaseUpdateStopped");
  EXPECT_EQ(taints(cluster("c1")).size(), 1u);
  outcome = hub.lease->reconcile("c1", {});
  ASSERT_TRUE(outcome && outcome->requeue_after);
  EXPECT_EQ(*outcome->requeue_after, 300s);

  renew("c1", clock->now());
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(hub_condition(cluster("c1"), "ManagedClusterConditionAvailable"), "Unknown") << "only the agent says True again";
  set_available("c1", "True");
  ASSERT_TRUE(hub.settle());
  EXPECT_TRUE(taints(cluster("c1")).empty());
}

TEST_F(HubControllersTest, AWatchThatLagsMakesNoLivingClusterUnknown) {
  HubLife hub(api, clock);
  join(hub, "c1");
  clock->advance(400s);
  renew("c1", clock->now());  // the cache does not know
  api->forget_calls();
  ASSERT_TRUE(hub.lease->reconcile("c1", {}));
  EXPECT_EQ(hub_condition(cluster("c1"), "ManagedClusterConditionAvailable"), "True");
  EXPECT_EQ(api->write_count(), 0);
}

TEST_F(HubControllersTest, AServerThatCannotBeReadMakesNoClusterUnknown) {
  HubLife hub(api, clock);
  join(hub, "c1");
  clock->advance(400s);
  api->refuse_next("get", "leases", 20);
  EXPECT_FALSE(hub.lease->reconcile("c1", {}));
  EXPECT_EQ(hub_condition(cluster("c1"), "ManagedClusterConditionAvailable"), "True");
}

TEST_F(HubControllersTest, TheClockIsJudgedOnRenewalsOnly) {
  put_cluster("c1", true);
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(hub_condition(cluster("c1"), "ManagedClusterConditionClockSynced"), "") << "the hub's own lease says nothing";
  renew("c1", clock->now() - 10min);
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(hub_condition(cluster("c1"), "ManagedClusterConditionClockSynced"), "False");
  renew("c1", clock->now());
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(hub_condition(cluster("c1"), "ManagedClusterConditionClockSynced"), "True");
  EXPECT_EQ(hub_condition(cluster("c1"), "ManagedClusterConditionClockSynced", "reason"), "ManagedClusterClockSynced");
}

TEST_F(HubControllersTest, TheFirstGoodVerdictOnTheClockWaitsForTheAgentsStatus) {
  put_cluster("c1", true);
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  clock->advance(1s);
  renew("c1", clock->now());
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(hub_condition(cluster("c1"), "ManagedClusterConditionClockSynced"), "");
  set_joined("c1");
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(hub_condition(cluster("c1"), "ManagedClusterConditionClockSynced"), "True");
}

TEST_F(HubControllersTest, ALeaseIsMadeOnceAndNeverOverwritten) {
  HubLife hub(api, clock);
  join(hub, "c1");
  const Json lease = *api->get(res::leases(), "c1", "managed-cluster-lease");
  HubLife behind(api, clock);
  api->erase(res::leases(), "c1", "managed-cluster-lease");
  behind.refresh();
  api->put(res::leases(), lease);  // the cache says there is none
  ASSERT_TRUE(behind.lease->reconcile("c1", {}));
  EXPECT_EQ(str(*api->get(res::leases(), "c1", "managed-cluster-lease"), {"spec", "renewTime"}),
            str(lease, {"spec", "renewTime"}));
}

TEST_F(HubControllersTest, ADeletedClusterWithoutLeaseIsUnknownAtOnce) {
  HubLife hub(api, clock);
  join(hub, "c1");
  put_work("c1", "w1");  // keeps the cluster
  start_deletion(api::managed_clusters(), {}, "c1");
  api->erase(res::leases(), "c1", "managed-cluster-lease");
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(hub_condition(cluster("c1"), "ManagedClusterConditionAvailable"), "Unknown");
  EXPECT_FALSE(exists(res::leases(), "c1", "managed-cluster-lease"));
}

TEST_F(HubControllersTest, NewClustersGetTheDefaultSetAndCounts) {
  put_cluster("c1", false);
  Json c2 = put_cluster("c2", false);
  at_or_make(c2, {"metadata", "labels", "cluster.open-cluster-management.io/clusterset"}) = "prod";
  api->put(api::managed_clusters(), c2);
  api->put(api::managed_cluster_sets(), {{"apiVersion", "cluster.open-cluster-management.io/v1beta2"},
                                         {"kind", "ManagedClusterSet"},
                                         {"metadata", {{"name", "none"}}},
                                         {"spec", {{"clusterSelector", {{"selectorType", "LabelSelector"}}}}}});
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(label_of(cluster("c1"), api::kClusterSetLabel), "default");
  EXPECT_EQ(label_of(cluster("c2"), api::kClusterSetLabel), "prod");
  const auto set = [&](const char* name) { return *api->get(api::managed_cluster_sets(), {}, name); };
  EXPECT_EQ(hub_condition(set("default"), "ClusterSetEmpty", "message"), "1 ManagedClusters selected");
  EXPECT_EQ(hub_condition(set("global"), "ClusterSetEmpty", "message"), "2 ManagedClusters selected");
  EXPECT_EQ(hub_condition(set("none"), "ClusterSetEmpty", "reason"), "NoClusterMatched") << "no selector selects nothing";
  EXPECT_EQ(hub_condition(set("none"), "ClusterSetEmpty", "message"), "No ManagedCluster selected");
}

TEST_F(HubControllersTest, StandardSetsAreRestoredUnlessToldOtherwise) {
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  Json set = *api->get(api::managed_cluster_sets(), {}, "global");
  const Json selector = *find(set, {"spec", "clusterSelector"});
  EXPECT_EQ(selector.dump(), R"({"labelSelector":{},"selectorType":"LabelSelector"})");
  at_or_make(set, {"spec", "clusterSelector", "labelSelector", "matchLabels", "a"}) = "b";
  api->put(api::managed_cluster_sets(), set);
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(object_at(*api->get(api::managed_cluster_sets(), {}, "global"), {"spec", "clusterSelector"}), selector);
  at_or_make(set, {"metadata", "annotations", "cluster.open-cluster-management.io/autoupdate"}) = "false";
  api->put(api::managed_cluster_sets(), set);
  ASSERT_TRUE(hub.settle());
  EXPECT_NE(object_at(*api->get(api::managed_cluster_sets(), {}, "global"), {"spec", "clusterSelector"}), selector);
  api->erase(api::managed_cluster_sets(), {}, "default");
  ASSERT_TRUE(hub.settle());
  EXPECT_TRUE(exists(api::managed_cluster_sets(), {}, "default"));
}

TEST_F(HubControllersTest, BindingsSayWhetherTheirSetExists) {
  api->put(api::managed_cluster_set_bindings(), {{"apiVersion", "cluster.open-cluster-management.io/v1beta2"},
                                                 {"kind", "ManagedClusterSetBinding"},
                                                 {"metadata", {{"name", "prod"}, {"namespace", "apps"}}},
                                                 {"spec", {{"clusterSet", "prod"}}}});
  const auto binding = [&] { return *api->get(api::managed_cluster_set_bindings(), "apps", "prod"); };
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(hub_condition(binding(), "Bound"), "False");
  EXPECT_EQ(hub_condition(binding(), "Bound", "reason"), "ClusterSetNotFound");
  api->put(api::managed_cluster_sets(), {{"apiVersion", "cluster.open-cluster-management.io/v1beta2"},
                                         {"kind", "ManagedClusterSet"},
                                         {"metadata", {{"name", "prod"}}},
                                         {"spec", Json::object()}});
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(hub_condition(binding(), "Bound", "reason"), "ClusterSetBound");
}

TEST_F(HubControllersTest, CleanupTakesAddonsBeforeWorksAndOnlyOfTheDeletedCluster) {
  HubLife hub(api, clock);
  join(hub, "c1");
  put_work("c1", "w1");
  api->put(api::managed_cluster_addons(), {{"apiVersion", "addon.open-cluster-management.io/v1alpha1"},
                                           {"kind", "ManagedClusterAddOn"},
                                           {"metadata", {{"name", "a1"}, {"namespace", "c1"}, {"finalizers", {"x/y"}}}}});
  start_deletion(api::managed_clusters(), {}, "c1");
  hub.refresh();
  ASSERT_TRUE(hub.cleanup->reconcile("c1", {}));
  EXPECT_TRUE(is_deleting(*api->get(api::managed_cluster_addons(), "c1", "a1")));
  EXPECT_FALSE(is_deleting(*api->get(api::manifest_works(), "c1", "w1")));
  EXPECT_EQ(hub_condition(cluster("c1"), "Deleting", "message"),
            "The resource managedclusteraddons is remaning, the remaining count is 1, the finalizer pending count is 0");
  api->erase(api::managed_cluster_addons(), "c1", "a1");
  ASSERT_TRUE(hub.cleanup->reconcile("c1", {}));
  EXPECT_TRUE(is_deleting(*api->get(api::manifest_works(), "c1", "w1")));
  agent_finishes_works();
  ASSERT_TRUE(hub.settle());
  EXPECT_FALSE(exists(api::managed_clusters(), {}, "c1"));
}

TEST_F(HubControllersTest, AClusterThatLeavesNothingGoesWithOneWriteToItself) {
  HubLife hub(api, clock);
  join(hub, "c1");
  start_deletion(api::managed_clusters(), {}, "c1");
  hub.refresh();
  const int before = api->write_count();
  ASSERT_TRUE(hub.cleanup->reconcile("c1", {}));
  EXPECT_FALSE(exists(api::managed_clusters(), {}, "c1"));
  EXPECT_FALSE(exists(res::cluster_role_bindings(), {}, cluster_role_name("c1")));
  EXPECT_FALSE(exists(res::role_bindings(), "c1", work_binding_name("c1")));
  // The binding of its role, the two bindings in its namespace together, the finalizer of one of them, and its own finalizers.
  EXPECT_EQ(api->write_count() - before, 4);
  hub.refresh();
  ASSERT_TRUE(hub.roles->reconcile("all", {}));
  EXPECT_TRUE(api->all(res::cluster_roles()).empty());
  EXPECT_EQ(api->write_count() - before, 5) << "its role goes with those that all clusters share";
}

TEST_F(HubControllersTest, AnAddonTypeThatIsNotServedIsNoObstacle) {
  HubLife hub(api, clock);
  join(hub, "c1");
  start_deletion(api::managed_clusters(), {}, "c1");
  api->on_request([](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (call.plural == "managedclusteraddons") return kube::Response{404, {}, "404 page not found\n"};
    return std::nullopt;
  });
  ASSERT_TRUE(hub.settle());
  EXPECT_FALSE(exists(api::managed_clusters(), {}, "c1"));
}

TEST_F(HubControllersTest, AStaleDeletionDeletesNothingOfASuccessor) {
  HubLife hub(api, clock);
  join(hub, "c1");
  start_deletion(api::managed_clusters(), {}, "c1");
  hub.refresh();
  api->erase(api::managed_clusters(), {}, "c1");
  put_cluster("c1", true);
  put_work("c1", "w1");
  api->forget_calls();
  (void)hub.cleanup->reconcile("c1", {});
  (void)hub.acceptance->reconcile("c1", {});
  EXPECT_EQ(api->count("delete"), 0);
  EXPECT_FALSE(is_deleting(*api->get(api::manifest_works(), "c1", "w1")));
}

}  // namespace
}  // namespace fleetadm::registration::hub
