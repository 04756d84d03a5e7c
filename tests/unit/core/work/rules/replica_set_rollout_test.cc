// Gradual rollouts of a ManifestWorkReplicaSet: the pure rules by cases.
#include <algorithm>
#include <gtest/gtest.h>
#include <sstream>

#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"
#include "core/work/rules/replica_set_rules.h"
#include "core/work/rules/replica_set_status.h"
#include "tests/unit/core/work/fleet.h"

namespace fleetadm::work {
namespace {

using testing::parsed;
using Begun = std::vector<std::string>;

const Instant kRolloutNow = *parse_time("2026-11-21T12:00:00Z");

Json set_with(const std::string& strategy, const std::string& annotations = "{}") {
  return parsed(R"({"apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
    "metadata": {"name": "rs", "namespace": "apps", "uid": "u", "annotations": )" +
                annotations + R"(}, "spec": {"placementRefs": [{"name": "p", "rolloutStrategy": )" + strategy +
                R"(}], "manifestWorkTemplate": {"workload": {"manifests": [{"apiVersion": "v1", "kind": "ConfigMap"}]}}}})");
}
constexpr const char* kTwo = R"({"type": "Progressive", "progressive": {"maxConcurrency": 2}})";

/// A canary group with c1, and n1…n6.
std::map<std::string, PlacementView> views() {
  PlacementView view;
  view.exists = true;
  view.groups = {{{"canary", 0}, {"c1"}}, {{"", 1}, {"n1", "n2", "n3", "n4", "n5", "n6"}}};
  view.selected = 7;
  view.status_groups = 2;
  return {{"p", view}};
}

class Rollout {
 public:
  explicit Rollout(Json set) : set_(std::move(set)) {
    revision_->number = 3;
    revision_->members = members_now(set_, views_).value_or(Members{});
  }
  /// A work with the template (or an older one), and its conditions: "Applied=True Available=False".
  Rollout& work(const std::string& cluster, const std::string& conditions, int age = 1000, bool current = true) {
    OwnedWork one;
    one.ns = cluster;
    one.name = "rs-x";
    one.uid = cluster;
    one.placement = "p";
    one.labels = work_labels(set_, "p");
    one.spec_hash = current ? work_spec_hash(object_at(set_, {"spec", "manifestWorkTemplate"})) : "old";
    one.begun = kRolloutNow - std::chrono::seconds(age);
    one.generation = 2;
    std::istringstream in(conditions);
    for (std::string word; in >> word;) {
      const std::size_t equals = word.find('=');
      one.conditions.push_back(
          {{"type", word.substr(0, equals)}, {"status", word.substr(equals + 1)}, {"observedGeneration", 2}});
    }
    works_.push_back(std::move(one));
    return *this;
  }
  Rollout& done(const Begun& clusters, int age = 1000) {
    for (const std::string& cluster : clusters) work(cluster, "Applied=True Available=True", age);
    return *this;
  }
  ReplicaSetPlan plan() const { return plan_replica_set(set_, views_, works_, revision_, kRolloutNow); }
  /// Clusters that are begun, in order.
  Begun begun() const {
    Begun names;
    const ReplicaSetPlan result = plan();
    for (const WantedWork& one : result.create) names.push_back(one.cluster);
    for (const WorkChange& one : result.update) names.push_back(one.work.ns);
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string phase(const std::string& cluster) const {
    const ReplicaSetPlan result = plan();
    for (const ClusterProgress& one : result.clusters) {
      if (one.cluster == cluster) return std::string(to_string(one.phase));
    }
    return "<none>";
  }
  std::string reason() const { return rollout_reason(plan()); }

  Json set_;
  std::map<std::string, PlacementView> views_ = views();
  std::vector<OwnedWork> works_;
  std::optional<Revision> revision_ = Revision{};
};

TEST(ReplicaSetRollout, BeginsAsManyAsTheStrategyAllows) {
  EXPECT_EQ(Rollout(set_with(kTwo)).begun(), (Begun{"c1", "n1"}));
  EXPECT_EQ(Rollout(set_with(kTwo)).done({"c1"}).work("n1", "").begun(), (Begun{"n2"}));
  EXPECT_EQ(Rollout(set_with(kTwo)).work("c1", "").work("n1", "").begun(), Begun{});
  EXPECT_EQ(Rollout(set_with(R"({"type": "ProgressivePerGroup"})")).begun(), (Begun{"c1"}));
  EXPECT_EQ(Rollout(set_with(R"({"type": "ProgressivePerGroup"})")).done({"c1"}).begun().size(), 6U);
}

TEST(ReplicaSetRollout, AClusterWithoutARuleForProgressingIsDoneWhenItsObjectsAreAvailable) {
  EXPECT_EQ(Rollout(set_with(kTwo)).work("c1", "Applied=True").phase("c1"), "Progressing");
  EXPECT_EQ(Rollout(set_with(kTwo)).work("c1", "Applied=True Available=False").phase("c1"), "Progressing");
  EXPECT_EQ(Rollout(set_with(kTwo)).work("c1", "Applied=True Available=True").phase("c1"), "Done");
  EXPECT_EQ(Rollout(set_with(kTwo)).work("c1", "Applied=False").phase("c1"), "Failed");
  EXPECT_EQ(Rollout(set_with(kTwo)).work("c1", "Applied=True Available=True Degraded=True").phase("c1"), "Failed");
}

TEST(ReplicaSetRollout, RulesForProgressingDecideWhereTheTemplateHasThem) {
  Json set = set_with(kTwo);
  set["spec"]["manifestWorkTemplate"]["manifestConfigs"] = parsed(R"([{"conditionRules": [{"condition": "Progressing"}]}])");
  EXPECT_EQ(Rollout(set).work("c1", "Applied=True Available=True").phase("c1"), "Progressing");
  EXPECT_EQ(Rollout(set).work("c1", "Applied=True Progressing=True").phase("c1"), "Progressing");
  EXPECT_EQ(Rollout(set).work("c1", "Applied=True Progressing=Unknown").phase("c1"), "Progressing");
  EXPECT_EQ(Rollout(set).work("c1", "Applied=True Progressing=True Degraded=True").phase("c1"), "Failed");
  EXPECT_EQ(Rollout(set).work("c1", "Applied=True Progressing=False Degraded=True").phase("c1"), "Done");
  Rollout former(set);
  former.work("c1", "Applied=True Progressing=False");
  former.works_[0].conditions[1]["observedGeneration"] = 1;
  EXPECT_EQ(former.phase("c1"), "Progressing");
}

TEST(ReplicaSetRollout, AnAgentThatNeverAnswersTimesOut) {  // upstream's ToApply has no deadline
  const std::string strategy = R"({"type": "Progressive", "progressive": {"maxConcurrency": 1, "progressDeadline": "30s"}})";
  EXPECT_EQ(Rollout(set_with(strategy)).work("c1", "", 29).phase("c1"), "Progressing");
  const Rollout late = std::move(Rollout(set_with(strategy)).work("c1", "", 30));
  EXPECT_EQ(late.phase("c1"), "TimedOut");
  EXPECT_EQ(late.reason(), "Failed");
  EXPECT_EQ(late.begun(), Begun{});
  const ReplicaSetPlan soon = Rollout(set_with(strategy)).work("c1", "", 10).plan();
  ASSERT_TRUE(soon.recheck);
  EXPECT_EQ(*soon.recheck, std::chrono::seconds(20));
}

TEST(ReplicaSetRollout, StopsAtTheFailureLimit) {
  const std::string one = R"({"type": "Progressive", "progressive": {"maxConcurrency": 4, "maxFailures": 1}})";
  EXPECT_EQ(Rollout(set_with(one)).work("n1", "Applied=False").begun(), (Begun{"c1", "n2", "n3"}));
  const Rollout breached = std::move(Rollout(set_with(one)).work("n1", "Applied=False").work("n2", "Applied=False"));
  EXPECT_EQ(breached.begun(), Begun{});
  EXPECT_EQ(breached.reason(), "Failed");
  EXPECT_FALSE(breached.plan().over);
}

TEST(ReplicaSetRollout, WhatIsUnderWayWithAnOlderTemplateHoldsItsPlaceAndGoesFirst) {
  Rollout rollout(set_with(kTwo));
  for (const char* cluster : {"c1", "n1", "n2", "n3", "n4", "n5"}) {
    rollout.work(cluster, std::string_view(cluster) == "n4" ? "Applied=False" : "Applied=True Available=True", 1000, false);
  }
  EXPECT_EQ(rollout.begun(), (Begun{"c1", "n4"}));
}

TEST(ReplicaSetRollout, TheMandatoryGroupComesFirst) {
  const std::string strategy =
      R"({"type": "Progressive", "progressive": {"maxConcurrency": 2, "mandatoryDecisionGroups": [{"groupName": "canary"}]}})";
  EXPECT_EQ(Rollout(set_with(strategy)).begun(), (Begun{"c1"}));
  EXPECT_EQ(Rollout(set_with(strategy)).work("c1", "Applied=False").begun(), Begun{});
  EXPECT_EQ(Rollout(set_with(strategy)).done({"c1"}).begun(), (Begun{"n1", "n2"}));
  EXPECT_EQ(Rollout(set_with(strategy)).done({"c1", "n1"}).work("n2", "").begun(), (Begun{"n3"}));
}

TEST(ReplicaSetRollout, MembershipIsFixedUntilItIsOver) {
  Rollout rollout(set_with(kTwo));
  rollout.views_["p"].groups[1].clusters.push_back("late");
  rollout.views_["p"].groups[1].clusters.erase(rollout.views_["p"].groups[1].clusters.begin());  // n1
  rollout.done({"c1", "n2", "n3", "n4", "n5", "n6"}).work("n1", "Applied=True Available=True");
  EXPECT_EQ(rollout.phase("late"), "Queued");
  EXPECT_EQ(rollout.phase("n1"), "Skipped");
  EXPECT_EQ(rollout.begun(), Begun{});
  const ReplicaSetPlan plan = rollout.plan();
  EXPECT_TRUE(plan.over);
  EXPECT_FALSE(plan.rolled_out);
  ASSERT_EQ(plan.remove.size(), 1U);
  EXPECT_EQ(plan.remove[0].ns, "n1");
  rollout.revision_->outcome = kOutcomeComplete;
  EXPECT_EQ(rollout.begun(), (Begun{"late"}));
}

TEST(ReplicaSetRollout, PausedWritesNothing) {
  Rollout rollout(set_with(kTwo, R"({"fleetadm.io/rollout-paused": "true"})"));
  rollout.done({"c1"}).work("gone", "Applied=True");
  rollout.works_[0].labels.clear();
  const ReplicaSetPlan plan = rollout.plan();
  EXPECT_TRUE(plan.create.empty());
  EXPECT_TRUE(plan.update.empty());
  EXPECT_TRUE(plan.remove.empty());
  EXPECT_EQ(rollout.reason(), "Paused");
}

TEST(ReplicaSetRollout, AbortedBeginsNothingMoreOfThatRevision) {
  Rollout rollout(set_with(kTwo, R"({"fleetadm.io/rollout-aborted": "3"})"));
  EXPECT_EQ(rollout.done({"c1"}).begun(), Begun{});
  EXPECT_EQ(rollout.reason(), "Aborted");
  rollout.revision_->number = 4;
  EXPECT_EQ(rollout.begun(), (Begun{"n1", "n2"}));
}

TEST(ReplicaSetRollout, ARetryForgivesForAMinute) {
  const std::string at = R"({"fleetadm.io/rollout-retry-at": ")" + format_time(kRolloutNow - std::chrono::seconds(20)) + "\"}";
  const Rollout rollout = std::move(Rollout(set_with(kTwo, at)).work("c1", "Applied=False"));
  EXPECT_EQ(rollout.phase("c1"), "Progressing");
  EXPECT_EQ(*rollout.plan().recheck, std::chrono::seconds(40));
  EXPECT_EQ(Rollout(set_with(kTwo, at)).work("c1", "Applied=False", 10).phase("c1"), "Failed") << "it failed again";
}

TEST(ReplicaSetRollout, AStrategyThatCannotBeReadTouchesNothing) {
  Rollout rollout(set_with(R"({"type": "All", "all": {"progressDeadline": "2d"}})"));
  rollout.work("c1", "", 1000, false).work("c9", "");
  const ReplicaSetPlan plan = rollout.plan();
  EXPECT_TRUE(plan.create.empty() && plan.update.empty() && plan.remove.empty());
  const Json status = replica_set_status(rollout.set_, plan, rollout.views_, rollout.revision_, kRolloutNow);
  const Json* verified = condition_in(list_at(status, {"conditions"}), "PlacementVerified");
  ASSERT_NE(verified, nullptr);
  EXPECT_EQ(str(*verified, {"reason"}), "NotAsExpected");
  EXPECT_NE(str(*verified, {"message"}).find("invalid timeout format"), std::string::npos);
  EXPECT_EQ(str(*condition_in(list_at(status, {"conditions"}), "PlacementRolledOut"), {"status"}), "False");
}

TEST(ReplicaSetRollout, AGradualRolloutWaitsForTheWholeDecision) {
  Rollout rollout(set_with(kTwo));
  rollout.views_["p"].selected = 9;
  EXPECT_EQ(rollout.begun(), Begun{});
  EXPECT_EQ(rollout.reason(), "Waiting");
  EXPECT_FALSE(members_now(rollout.set_, rollout.views_));
  rollout.views_ = views();
  rollout.revision_.reset();
  EXPECT_EQ(rollout.begun(), Begun{}) << "not before the revision is recorded";
}

TEST(ReplicaSetRollout, ADecisionWithoutAGroupIndexIsAProblem) {
  const Json placement = parsed(R"({"status": {"numberOfSelectedClusters": 1, "decisionGroups": [{}]}})");
  const Json decision = parsed(R"({"metadata": {"name": "d"}, "status": {"decisions": [{"clusterName": "c1"}]}})");
  Rollout rollout(set_with(kTwo));
  rollout.views_["p"] = view_placement(&placement, {decision});
  EXPECT_EQ(rollout.begun(), Begun{});
  EXPECT_EQ(rollout.reason(), "Invalid");
}

TEST(ReplicaSetRollout, TheSentenceNamesWhatHolds) {
  const Rollout rollout = std::move(Rollout(set_with(kTwo)).done({"c1"}).work("n1", "Applied=False"));
  EXPECT_EQ(rollout_sentence(rollout.plan(), rollout.revision_), "revision 3: 1 of 7 clusters done, 1 failed (n1), 5 to come");
}

TEST(ReplicaSetRevisions, KeepTheirTemplateAndWhoAndMembers) {
  Json set = set_with(kTwo);
  RevisionStart start{4, "ann", 2, {{"p", {"c1", "n1"}}}};
  const Json object = new_revision(set, start, kRolloutNow);
  EXPECT_EQ(find(object, {"data", "manifestWorkTemplate"}) != nullptr, true);
  const std::vector<Revision> known = revisions_of(set, {object});
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known[0].number, 4);
  EXPECT_EQ(known[0].by, "ann");
  EXPECT_EQ(known[0].copied_from, 2);
  EXPECT_EQ(known[0].hash, work_spec_hash(object_at(set, {"spec", "manifestWorkTemplate"})));
  EXPECT_TRUE(known[0].members.at("p").contains("n1"));
  set["metadata"]["uid"] = "another";
  EXPECT_TRUE(revisions_of(set, {object}).empty()) << "of a set that had the same name";
}

}  // namespace
}  // namespace fleetadm::work
