// ManifestWorkReplicaSet: the pure rules by cases, and the controller against an API server in memory.
#include "core/work/hub/replica_set.h"

#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "core/work/hub/decision_rest.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"
#include "core/work/rules/replica_set_rules.h"
#include "core/work/rules/replica_set_status.h"
#include "tests/support/killable.h"
#include "tests/support/replica_sets.h"
#include "tests/unit/core/work/fleet.h"

namespace fleetadm::work {
namespace {

using testing::eventually;
using testing::parsed;

const Instant kSetNow = *parse_time("2026-11-21T12:00:00Z");
constexpr const char* kTemplate =
    R"({"workload": {"manifests": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}]}})";

Json set_of(const std::string& refs = R"([{"name": "p"}])", const std::string& spec = kTemplate) {
  return parsed(R"({"apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
    "metadata": {"name": "rs", "namespace": "apps", "labels": {"team": "x"}}, "spec": {"placementRefs": )" +
                refs + R"(, "manifestWorkTemplate": )" + spec + "}}");
}

OwnedWork work_in(const std::string& cluster, const std::string& placement = "p", bool current = true) {
  OwnedWork work;
  work.ns = cluster;
  work.name = "rs-1";
  work.uid = cluster + "-uid";
  work.placement = placement;
  work.labels = work_labels(set_of(), placement);
  work.spec_hash = current ? work_spec_hash(parsed(kTemplate)) : "old";
  work.generation = 1;
  return work;
}

PlacementView view_of(std::vector<std::string> clusters) {
  const auto selected = static_cast<std::int64_t>(clusters.size());
  PlacementView view;
  view.exists = true;
  view.groups = {{{"", 0}, std::move(clusters)}};
  view.selected = selected;
  view.status_groups = 1;
  return view;
}

/// As the controller asks for it, with the first revision recorded.
ReplicaSetPlan plan_of(const Json& set, const std::map<std::string, PlacementView>& views, const std::vector<OwnedWork>& works) {
  Revision revision;
  revision.number = 1;
  revision.members = members_now(set, views).value_or(Members{});
  return plan_replica_set(set, views, works, revision, kSetNow);
}
Json status_of(const Json& set, const ReplicaSetPlan& plan, const std::map<std::string, PlacementView>& views) {
  return replica_set_status(set, plan, views, std::nullopt, kSetNow);
}

void report(OwnedWork& work, const char* type, const char* status) {
  work.conditions.push_back({{"type", type}, {"status", status}, {"observedGeneration", 1}});
}

std::string condition(const Json& status, std::string_view type) {
  const Json* found = condition_in(list_at(status, {"conditions"}), type);
  return found == nullptr ? "<none>" : str(*found, {"status"}) + " " + str(*found, {"reason"});
}

std::vector<std::string> clusters_of(const std::vector<OwnedWork>& works) {
  std::vector<std::string> clusters;
  for (const OwnedWork& work : works) clusters.push_back(work.ns);
  return clusters;
}

TEST(ReplicaSetRules, FreshSetCreatesOneWorkACluster) {
  const std::map<std::string, PlacementView> views{{"p", view_of({"c2", "c1"})}};
  const ReplicaSetPlan plan = plan_of(set_of(), views, {});
  ASSERT_EQ(plan.create.size(), 2U);
  EXPECT_EQ(plan.create[0].cluster, "c1");
  const Json status = status_of(set_of(), plan, views);
  EXPECT_EQ(condition(status, "PlacementVerified"), "True AsExpected");
  EXPECT_EQ(condition(status, "PlacementRolledOut"), "False Progressing");
  EXPECT_EQ(condition(status, "ManifestworkApplied"), "False NotAsExpected");
  EXPECT_EQ(num(status, {"summary", "total"}), 2);
  EXPECT_EQ(str(list_at(status, {"placementSummary"})[0], {"availableDecisionGroups"}), "1 (2 / 2 clusters applied)");
  const Json work = new_work(set_of(), plan.create[0], kSetNow);
  EXPECT_EQ(label_of(work, kReplicaSetLabel), "apps.rs");
  EXPECT_EQ(label_of(work, kPlacementNameLabel), "p");
  EXPECT_EQ(label_of(work, "team"), "x");
}

TEST(ReplicaSetRules, SuccessIsWhatTheSetAsksFor) {
  OwnedWork applied = work_in("c1");
  report(applied, "Applied", "True");
  OwnedWork available = applied;
  report(available, "Available", "True");
  OwnedWork not_ready = available;
  report(not_ready, "work.fleetadm.io/Ready", "False");
  OwnedWork ready = available;
  report(ready, "work.fleetadm.io/Ready", "True");
  OwnedWork failed = not_ready;
  failed.conditions.back()["reason"] = "ResourcesFailed";
  const auto state = [](const OwnedWork& work, SuccessWhen success) {
    return judge_work(work, {false, success}, std::nullopt, kSetNow).state;
  };
  using rollout::State;
  EXPECT_EQ(state(applied, SuccessWhen::kApplied), State::kSucceeded);
  EXPECT_EQ(state(applied, SuccessWhen::kAvailable), State::kProgressing);
  EXPECT_EQ(state(not_ready, SuccessWhen::kAvailable), State::kSucceeded);
  EXPECT_EQ(state(not_ready, SuccessWhen::kReady), State::kProgressing);
  EXPECT_EQ(state(failed, SuccessWhen::kReady), State::kFailed);
  EXPECT_EQ(state(ready, SuccessWhen::kReady), State::kSucceeded);
  // Its agent does not report readiness: upstream's meaning.
  EXPECT_EQ(state(available, SuccessWhen::kReady), State::kSucceeded);
  // Readiness of an older generation is waited for.
  ready.conditions.back()["observedGeneration"] = 0;
  EXPECT_EQ(state(ready, SuccessWhen::kReady), State::kProgressing);
  Json set = set_of();
  EXPECT_EQ(success_when_of(set), SuccessWhen::kAvailable);
  at_or_make(set, {"metadata", "annotations", kSuccessAnnotation}) = "ready";
  EXPECT_EQ(success_when_of(set), SuccessWhen::kReady);
}

TEST(ReplicaSetRules, WorksLeaveDeselectedClustersWhateverTheirTemplate) {
  const std::map<std::string, PlacementView> views{{"p", view_of({"c1"})}};
  const ReplicaSetPlan plan = plan_of(set_of(), views, {work_in("c1"), work_in("c2"), work_in("c3", "p", false)});
  EXPECT_EQ(clusters_of(plan.remove), (std::vector<std::string>{"c2", "c3"}));
  EXPECT_TRUE(plan.create.empty());
  EXPECT_TRUE(plan.update.empty());
}

TEST(ReplicaSetRules, NothingIsRemovedWhileDecisionsAreFewerThanTheStatusSays) {
  PlacementView view = view_of({"c1"});
  view.selected = 2;
  const std::map<std::string, PlacementView> views{{"p", view}};
  EXPECT_TRUE(plan_of(set_of(), views, {work_in("c1"), work_in("c2")}).remove.empty());
  view = view_of({});
  view.selected = 2;
  EXPECT_TRUE(plan_of(set_of(), {{"p", view}}, {work_in("c1"), work_in("c2")}).remove.empty());
}

TEST(ReplicaSetRules, DecisionsAtRestAreFollowedWhateverTheStatusSays) {
  PlacementView view = view_of({"c1"});
  view.selected = 3;
  view.decided = view.at_rest = true;
  const std::map<std::string, PlacementView> views{{"p", view}};
  EXPECT_EQ(clusters_of(plan_of(set_of(), views, {work_in("c1"), work_in("c2")}).remove), (std::vector<std::string>{"c2"}));
}

TEST(ReplicaSetRules, NoDecisionsAtAllAreNotBelievedAgainstTheStatus) {
  PlacementView view = view_of({});
  view.selected = 2;
  view.at_rest = true;
  const std::map<std::string, PlacementView> views{{"p", view}};
  EXPECT_TRUE(plan_of(set_of(), views, {work_in("c1"), work_in("c2")}).remove.empty());
  view.decided = true;
  EXPECT_EQ(plan_of(set_of(), {{"p", view}}, {work_in("c1"), work_in("c2")}).remove.size(), 2U) << "decided: none";
}

TEST(ReplicaSetRules, DecisionsCountByTheirOwner) {
  const Json placement = parsed(R"({"metadata": {"name": "p", "uid": "p-uid"}, "status": {"decisionGroups": [{}]}})");
  const auto decision = [](const std::string& cluster, const std::string& owner_uid) {
    Json made = parsed(R"({"metadata": {"labels": {"cluster.open-cluster-management.io/decision-group-index": "0"}}})");
    made["metadata"]["name"] = "d-" + cluster;
    if (!owner_uid.empty()) {
      made["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
                                                          {"kind", "Placement"},
                                                          {"name", "p"},
                                                          {"uid", owner_uid}}});
    }
    made["status"]["decisions"] = Json::array({{{"clusterName", cluster}}});
    return made;
  };
  const auto clusters = [&](const std::vector<Json>& decisions) {
    std::vector<std::string> names;
    for (const rollout::Group& group : view_placement(&placement, decisions).groups) {
      names.insert(names.end(), group.clusters.begin(), group.clusters.end());
    }
    return names;
  };
  using Clusters = std::vector<std::string>;
  EXPECT_EQ(clusters({decision("by-hand", "")}), Clusters{"by-hand"});
  EXPECT_EQ(clusters({decision("by-hand", ""), decision("own", "p-uid")}), Clusters{"own"}) << "a scheduler decides";
  EXPECT_EQ(clusters({decision("of-another", "q-uid"), decision("by-hand", "")}), Clusters{"by-hand"});
  EXPECT_FALSE(view_placement(&placement, {decision("of-another", "q-uid")}).decided);
}

TEST(DecisionRest, BeginsAgainWithEveryChange) {
  using std::chrono::seconds;
  DecisionRest rest;
  PlacementView view = view_of({"c1", "c2"});
  view.decided = true;
  EXPECT_FALSE(rest.observe("apps/p", view, kSetNow)) << "it agrees";
  view.selected = 3;
  EXPECT_EQ(rest.observe("apps/p", view, kSetNow), kDecisionRest);
  EXPECT_EQ(rest.observe("apps/p", view, kSetNow + seconds(3)), kDecisionRest - seconds(3));
  view.groups[0].clusters = {"c1"};
  EXPECT_EQ(rest.observe("apps/p", view, kSetNow + seconds(4)), kDecisionRest);
  EXPECT_EQ(rest.observe("apps/q", view, kSetNow + seconds(4)), kDecisionRest);
  EXPECT_FALSE(view.at_rest);
  EXPECT_FALSE(rest.observe("apps/p", view, kSetNow + seconds(4) + kDecisionRest));
  EXPECT_TRUE(view.at_rest);
  EXPECT_EQ(rest.observe("apps/p", view, kSetNow), kDecisionRest) << "the clock was set back";
}

TEST(ReplicaSetRules, AMissingPlacementStopsEverything) {
  const Json set = set_of(R"([{"name": "p"}, {"name": "gone"}])");
  const std::map<std::string, PlacementView> views{{"p", view_of({})}, {"gone", {}}};
  const ReplicaSetPlan plan = plan_of(set, views, {work_in("c1")});
  EXPECT_EQ(plan.missing_placement, "gone");
  EXPECT_TRUE(plan.remove.empty());
  EXPECT_EQ(condition(status_of(set, plan, views), "PlacementVerified"), "False PlacementDecisionNotFound");
}

TEST(ReplicaSetRules, AnEmptyPlacementIsSaidTwiceAndComplete) {
  const std::map<std::string, PlacementView> views{{"p", view_of({})}};
  const Json status = status_of(set_of(), plan_of(set_of(), views, {}), views);
  EXPECT_EQ(condition(status, "PlacementVerified"), "False PlacementDecisionEmpty");
  EXPECT_EQ(condition(status, "ManifestworkApplied"), "False PlacementDecisionEmpty");
  EXPECT_EQ(condition(status, "PlacementRolledOut"), "True Complete");
}

TEST(ReplicaSetRules, OverlappingPlacementsShareOneWork) {
  const Json set = set_of(R"([{"name": "p"}, {"name": "q"}])");
  const std::map<std::string, PlacementView> views{{"p", view_of({"c1", "c2"})}, {"q", view_of({"c2", "c3"})}};
  ReplicaSetPlan plan = plan_of(set, views, {});
  ASSERT_EQ(plan.create.size(), 3U);
  EXPECT_EQ(plan.create[1].cluster, "c2");
  EXPECT_EQ(plan.create[1].placement, "p");
  // Two works in c2, as upstream leaves them: the wanted placement's stays.
  OwnedWork twin = work_in("c2", "q");
  twin.name = "rs-2";
  plan = plan_of(set, views, {work_in("c1"), twin, work_in("c2"), work_in("c3", "q")});
  ASSERT_EQ(plan.remove.size(), 1U);
  EXPECT_EQ(plan.remove[0].name, "rs-2");
}

TEST(ReplicaSetRules, ARemovedPlacementTakesItsWorksAlong) {
  const std::map<std::string, PlacementView> views{{"p", view_of({"c1"})}};
  const ReplicaSetPlan plan = plan_of(set_of(), views, {work_in("c1"), work_in("c9", "former")});
  EXPECT_EQ(clusters_of(plan.remove), (std::vector<std::string>{"c9"}));
}

TEST(ReplicaSetRules, TemplateAndLabelChangesReachEveryWork) {
  const std::map<std::string, PlacementView> views{{"p", view_of({"c1", "c2"})}};
  OwnedWork unlabelled = work_in("c2");
  unlabelled.labels.erase("team");
  const ReplicaSetPlan plan = plan_of(set_of(), views, {work_in("c1", "p", false), unlabelled});
  EXPECT_EQ(plan.update.size(), 2U);
}

TEST(ReplicaSetRules, RolledOutWithoutAProgressingRuleMeansApplied) {
  const std::map<std::string, PlacementView> views{{"p", view_of({"c1"})}};
  OwnedWork work = work_in("c1");
  report(work, "Applied", "True");
  report(work, "Available", "True");
  ReplicaSetPlan plan = plan_of(set_of(), views, {work});
  Json status = status_of(set_of(), plan, views);
  EXPECT_EQ(condition(status, "PlacementRolledOut"), "True Complete");
  EXPECT_EQ(condition(status, "ManifestworkApplied"), "True AsExpected");
  const std::string with_rule = R"({"manifestConfigs": [{"conditionRules": [{"type": "CEL", "condition": "Progressing"}]}]})";
  const Json set = set_of(R"([{"name": "p"}])", with_rule);
  work.spec_hash = work_spec_hash(parsed(with_rule));
  status = status_of(set, plan_of(set, views, {work}), views);
  EXPECT_EQ(condition(status, "PlacementRolledOut"), "False Progressing");
  report(work, "Progressing", "True");
  status = status_of(set, plan_of(set, views, {work}), views);
  EXPECT_EQ(condition(status, "ManifestworkApplied"), "False Processing");
  report(work, "Degraded", "True");
  status = status_of(set, plan_of(set, views, {work}), views);
  EXPECT_EQ(condition(status, "ManifestworkApplied"), "False NotAsExpected");
}

TEST(ReplicaSetRules, ALongNameIsSaid) {
  Json set = set_of();
  set["metadata"]["name"] = std::string(60, 'x');
  const Json status = invalid_name_status(set, owner_label_problem(set), kSetNow);
  EXPECT_EQ(condition(status, "ManifestworkApplied"), "False InvalidManifestWorkName");
  EXPECT_TRUE(owner_label_problem(set_of()).empty());
}

// The controller.

class ReplicaSetController : public ::testing::Test {
 protected:
  void start(int die_after = -1) {
    controller_.start(
        [this](controller::Manager& manager, const std::shared_ptr<kube::WriteGate>& gate) {
          add_replica_set_controller(manager, hub_->client(gate));
        },
        die_after);
  }
  void decide(const std::vector<std::string>& clusters) { testkit::put_decided(*hub_, "apps", "p", {{"", clusters}}); }
  std::vector<std::string> clusters() const {
    std::vector<std::string> names;
    for (const Json& work : hub_->all(api::manifest_works())) names.push_back(namespace_of(work));
    return names;
  }
  std::optional<Json> set() const { return hub_->get(api::manifest_work_replica_sets(), "apps", "rs"); }
  /// What the server was asked and what it holds, for messages.
  std::string told() const {
    std::string text = dump_json(set().value_or(Json()));
    for (const Json& decision : hub_->all(api::placement_decisions())) text += "\n" + dump_json(decision);
    for (const testkit::ApiCall& call : hub_->calls())
      text += "\n" + call.verb + " " + call.path + " " + std::to_string(call.status);
    return text;
  }
  static void settle(const testkit::FakeApi& api) { testing::settle(api, api); }

  std::shared_ptr<testkit::FakeApi> hub_ = testkit::FakeApi::make();
  testkit::Killable controller_;
};

using NameList = std::vector<std::string>;

TEST_F(ReplicaSetController, FollowsThePlacement) {
  decide({"c1", "c2"});
  hub_->put(api::manifest_work_replica_sets(), set_of());
  start();
  ASSERT_TRUE(eventually([&] { return clusters() == NameList{"c1", "c2"}; })) << told();
  EXPECT_TRUE(has_finalizer(*set(), kReplicaSetFinalizer));
  decide({"c2", "c3"});
  EXPECT_TRUE(eventually([&] { return clusters() == NameList{"c2", "c3"}; }));
  settle(*hub_);
  const int before = controller_.writes();
  decide({"c2", "c3"});
  settle(*hub_);
  EXPECT_EQ(controller_.writes(), before) << "nothing changed";
  EXPECT_EQ(num(*set(), {"status", "summary", "total"}), 2);
}

// As upstream's own suite does it: no group in the status, and the status is not changed when decisions are.
TEST_F(ReplicaSetController, FollowsDecisionsWrittenByHand) {
  const auto by_hand = [&](const std::string& name, const std::vector<std::string>& clusters) {
    hub_->put(api::placements(), {{"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
                                  {"kind", "Placement"},
                                  {"metadata", {{"name", name}, {"namespace", "apps"}}},
                                  {"spec", Json::object()},
                                  {"status", {{"numberOfSelectedClusters", 3}}}});
    testkit::put_decision(*hub_, "apps", name, 0, {"", clusters});
  };
  by_hand("p", {"c1", "c2", "c3"});
  by_hand("gradual", {"c7", "c8", "c9"});
  hub_->put(api::manifest_work_replica_sets(), set_of());
  Json gradual = set_of(R"([{"name": "gradual",
      "rolloutStrategy": {"type": "Progressive", "progressive": {"maxConcurrency": 2}}}])");
  gradual["metadata"]["name"] = "gradual";
  hub_->put(api::manifest_work_replica_sets(), gradual);
  start();
  ASSERT_TRUE(eventually([&] { return clusters().size() >= 3; })) << told();
  by_hand("p", {"c1", "c2"});
  EXPECT_TRUE(eventually([&] { return clusters() == NameList{"c1", "c2", "c7", "c8"}; }, 2 * kDecisionRest)) << told();
}

TEST_F(ReplicaSetController, DecisionsDoNotReachBeyondTheBoundSets) {
  const auto put_cluster = [&](const std::string& name, const std::string& cluster_set) {
    hub_->put(api::managed_clusters(),
              {{"apiVersion", "cluster.open-cluster-management.io/v1"},
               {"kind", "ManagedCluster"},
               {"metadata", {{"name", name}, {"labels", {{std::string(api::kClusterSetLabel), cluster_set}}}}}});
  };
  for (const char* name : {"ours", "theirs"}) {
    hub_->put(api::managed_cluster_sets(), {{"apiVersion", "cluster.open-cluster-management.io/v1beta2"},
                                            {"kind", "ManagedClusterSet"},
                                            {"metadata", {{"name", name}}},
                                            {"spec", {{"clusterSelector", {{"selectorType", "ExclusiveClusterSetLabel"}}}}}});
  }
  hub_->put(api::managed_cluster_set_bindings(), {{"apiVersion", "cluster.open-cluster-management.io/v1beta2"},
                                                  {"kind", "ManagedClusterSetBinding"},
                                                  {"metadata", {{"name", "ours"}, {"namespace", "apps"}}},
                                                  {"spec", {{"clusterSet", "ours"}}}});
  put_cluster("c1", "ours");
  put_cluster("c2", "theirs");
  decide({"c1"});
  hub_->put(api::manifest_work_replica_sets(), set_of());
  start();
  ASSERT_TRUE(eventually([&] { return clusters() == NameList{"c1"}; })) << told();
  decide({"c1", "c2"});
  const auto problem = [&] {
    const Json now = *set();
    const Json* verified = condition_in(list_at(now, {"status", "conditions"}), "PlacementVerified");
    return verified == nullptr ? std::string() : str(*verified, {"message"});
  };
  EXPECT_TRUE(eventually([&] { return problem().find("cluster c2, which is in no cluster set") != std::string::npos; }))
      << told();
  EXPECT_EQ(clusters(), NameList{"c1"});
}

TEST_F(ReplicaSetController, UpdatesAndDeletes) {
  decide({"c1", "c2"});
  hub_->put(api::manifest_work_replica_sets(), set_of());
  start();
  ASSERT_TRUE(eventually([&] { return clusters().size() == 2; }));
  const Json patch = parsed(R"({"spec": {"manifestWorkTemplate": {"workload": {"manifests": [
      {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}]}}}})");
  ASSERT_TRUE(hub_->client().patch(api::manifest_work_replica_sets(), "apps", "rs", kube::PatchType::kMerge, patch));
  EXPECT_TRUE(eventually([&] {
    for (const Json& work : hub_->all(api::manifest_works())) {
      if (name_of(list_at(work, {"spec", "workload", "manifests"})[0]) != "b") return false;
    }
    return true;
  }));
  EXPECT_EQ(clusters().size(), 2U);
  ASSERT_TRUE(hub_->client().remove(api::manifest_work_replica_sets(), "apps", "rs"));
  EXPECT_TRUE(eventually([&] { return clusters().empty() && !set(); }));
}

TEST_F(ReplicaSetController, KilledAfterEveryWriteEndsTheSame) {
  for (int k = 0; k < 10; ++k) {
    hub_ = testkit::FakeApi::make();
    decide({"c1", "c2", "c3"});
    hub_->put(api::manifest_work_replica_sets(), set_of());
    start(k);
    eventually([&] { return controller_.writes() >= k; }, std::chrono::seconds(2));
    settle(*hub_);
    start();
    EXPECT_TRUE(eventually([&] {
      return clusters() == NameList{"c1", "c2", "c3"} && num(*set(), {"status", "summary", "total"}) == 3;
    })) << "killed after write "
        << k;
    settle(*hub_);
    if (controller_.writes() == 0) break;
  }
}

}  // namespace
}  // namespace fleetadm::work
