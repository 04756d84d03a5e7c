// Edge cases of ManifestWorkReplicaSets (docs/reference/work.md#replica-sets), row by row: the pure ones as data, those of the
// controller against an API server in memory. Where the hub does otherwise than upstream, on purpose, the row says so.
#include <gtest/gtest.h>
#include <sstream>

#include "core/api/kinds.h"
#include "core/work/hub/replica_set.h"
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

const Instant kNow = *parse_time("2026-11-21T12:00:00Z");
constexpr const char* kManifests =
    R"("workload": {"manifests": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}]})";
constexpr const char* kRule = R"("manifestConfigs": [{"conditionRules": [{"type": "CEL", "condition": "Progressing"}]}])";

struct SetCase {
  const char* id;
  const char* placements;  // "p=c1,c2 q=!": the set's placements, in order; "!": it does not exist
  const char* strategy;    // rolloutStrategy of each, as JSON; "": none
  bool rule;               // the template has a rule for Progressing
  /// Separated by ", ": "c1", with ":q" of a placement (else p; ":-" none), "~" for an older template, "-team" without a label of
  /// the set's, and conditions behind it: "c1 Applied=True@1" (generation 2 unless @ says another).
  const char* works;
  const char* writes;  // "create c1:p; update c2:p; remove c3:p"
  const char* said;    // "PlacementVerified=True/AsExpected …"; the conditions that are named here
};

std::vector<std::string> words(const std::string& text, char separator) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, separator);) {
    if (!word.empty()) all.push_back(word);
  }
  return all;
}

Json set_of(const SetCase& row) {
  Json refs = Json::array();
  for (const std::string& one : words(row.placements, ' ')) {
    Json ref{{"name", one.substr(0, one.find('='))}};
    if (*row.strategy != '\0') ref["rolloutStrategy"] = parsed(row.strategy);
    refs.push_back(std::move(ref));
  }
  const std::string spec = std::string("{") + kManifests + (row.rule ? std::string(",") + kRule : "") + "}";
  return {{"apiVersion", "work.open-cluster-management.io/v1alpha1"},
          {"kind", "ManifestWorkReplicaSet"},
          {"metadata", {{"name", "rs"}, {"namespace", "apps"}, {"labels", {{"team", "x"}}}}},
          {"spec", {{"placementRefs", refs}, {"manifestWorkTemplate", parsed(spec)}}}};
}

std::map<std::string, PlacementView> views_of(const SetCase& row) {
  std::map<std::string, PlacementView> views;
  for (const std::string& one : words(row.placements, ' ')) {
    const std::size_t equals = one.find('=');
    PlacementView& view = views[one.substr(0, equals)];
    if (one.substr(equals + 1) == "!") continue;
    view.exists = true;
    view.status_groups = 1;
    view.groups = {{{"", 0}, words(one.substr(equals + 1), ',')}};
    view.selected = view.clusters();
  }
  return views;
}

OwnedWork work_of(const SetCase& row, const Json& set, const std::string& text) {
  const std::vector<std::string> parts = words(text, ' ');
  std::string head = parts.front();
  OwnedWork work;
  work.generation = 2;
  work.begun = kNow - std::chrono::minutes(1);
  const bool old = head.find('~') != std::string::npos;
  work.spec_hash = old ? "old" : work_spec_hash(object_at(set, {"spec", "manifestWorkTemplate"}));
  if (old) head.erase(head.find('~'), 1);
  const std::size_t unlabelled = head.find("-team");
  if (unlabelled != std::string::npos) head.erase(unlabelled, 5);
  const std::size_t colon = head.find(':');
  work.ns = head.substr(0, colon);
  work.placement = colon == std::string::npos ? words(row.placements, '=').front() : head.substr(colon + 1);
  if (work.placement == "-") work.placement.clear();
  work.name = "rs-" + work.placement;
  work.uid = work.ns + work.placement;
  work.labels = work_labels(set, work.placement);
  if (work.placement.empty()) work.labels.erase(std::string(kPlacementNameLabel));
  if (unlabelled != std::string::npos) work.labels.erase("team");
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    const std::size_t at = parts[i].find('@');
    work.conditions.push_back({{"type", parts[i].substr(0, equals)},
                               {"status", parts[i].substr(equals + 1, at == std::string::npos ? at : at - equals - 1)},
                               {"observedGeneration", at == std::string::npos ? 2 : std::stoi(parts[i].substr(at + 1))},
                               {"lastTransitionTime", format_time(kNow - std::chrono::minutes(1))}});
  }
  return work;
}

std::string written(const ReplicaSetPlan& plan) {
  std::string text;
  const auto add = [&](const std::string& what, const std::string& cluster, const std::string& placement) {
    text += (text.empty() ? "" : "; ") + what + " " + cluster + ":" + placement;
  };
  for (const WantedWork& one : plan.create) add("create", one.cluster, one.placement);
  for (const WorkChange& one : plan.update) add("update", one.work.ns, one.placement);
  for (const OwnedWork& one : plan.remove) add("remove", one.ns, one.placement);
  return text;
}

ReplicaSetPlan plan_of(const SetCase& row) {
  const Json set = set_of(row);
  const auto views = views_of(row);
  std::vector<OwnedWork> works;
  for (const std::string& text : words(row.works, ',')) works.push_back(work_of(row, set, text));
  Revision revision;
  revision.number = 1;
  revision.members = members_now(set, views).value_or(Members{});
  return plan_replica_set(set, views, works, revision, kNow);
}

constexpr const char* kOneAtATime = R"({"type": "Progressive", "progressive": {"maxConcurrency": 1}})";

const SetCase kCases[] = {
    {"M1", "p=c1,c2", "", false, "", "create c1:p; create c2:p",
     "PlacementVerified=True/AsExpected PlacementRolledOut=False/Progressing ManifestworkApplied=False/NotAsExpected"},
    // Complete when the works that leave are gone; upstream says it one pass too early.
    {"M2", "p=c1", "", false, "c1 Applied=True Available=True, c2 Applied=True Available=True", "remove c2:p",
     "PlacementRolledOut=False/Progressing"},
    // Upstream leaves the stale work for ever.
    {"M3", "p=c1", "", false, "c1 Applied=True Available=True, c2~ Applied=True", "remove c2:p",
     "PlacementRolledOut=False/Progressing"},
    {"M4", "p=", "", false, "", "",
     "PlacementVerified=False/PlacementDecisionEmpty ManifestworkApplied=False/PlacementDecisionEmpty "
     "PlacementRolledOut=True/Complete"},
    {"M5", "q=! p=c1", "", false, "c9:p", "", "PlacementVerified=False/PlacementDecisionNotFound"},
    {"M6", "p=c1", "", false, "c1:p, c2:former", "remove c2:former", ""},
    // Upstream deletes it, with all that it has applied, and makes it again.
    {"M7", "p=c1", "", false, "c1:-", "update c1:p", ""},
    // Upstream makes two works in c2, and on a change of the template a third one.
    {"M8", "p=c1,c2 q=c2,c3", "", false, "", "create c1:p; create c2:p; create c3:q", ""},
    {"M9", "p=c1,c2 q=c2,c3", "", false, "c1:p~, c2:p~, c2:q~, c3:q~", "update c1:p; update c2:p; update c3:q; remove c2:q", ""},
    {"M10", "p=c1,c2", "", false, "c1-team Applied=True Available=True, c2 Applied=True Available=True", "update c1:p", ""},
    {"M11", "p=c1,c2", "", true,
     "c1 Applied=True Available=True Progressing=True Degraded=True, c2 Applied=True Available=True Progressing=True", "",
     "ManifestworkApplied=False/NotAsExpected"},
    {"M12", "p=c1", "", true, "c1 Applied=True Available=True Progressing=True", "", "ManifestworkApplied=False/Processing"},
    // Upstream: the rule counts even where the template has none, and c2 never begins.
    {"M13", "p=c1,c2", kOneAtATime, false, "c1 Applied=True Available=True", "create c2:p", ""},
    {"M13_rule", "p=c1,c2", kOneAtATime, true, "c1 Applied=True Available=True", "", "PlacementRolledOut=False/Progressing"},
    {"M14", "p=c1,c2", kOneAtATime, true, "c1 Applied=True Progressing=False Degraded=True", "create c2:p", ""},
    {"M15", "p=c1,c2", kOneAtATime, true, "c1 Applied=True Progressing=False@1", "", "PlacementRolledOut=False/Progressing"},
    // Upstream says PlacementDecisionEmpty and Complete.
    {"M16", "p=c1", R"({"type": "All", "all": {"progressDeadline": "2d"}})", false, "", "",
     "PlacementRolledOut=False/Progressing"},
};

class ReplicaSetCases : public ::testing::TestWithParam<SetCase> {};

TEST_P(ReplicaSetCases, IsAsTheTableSays) {
  const SetCase& row = GetParam();
  const ReplicaSetPlan plan = plan_of(row);
  EXPECT_EQ(written(plan), row.writes);
  const Json status = replica_set_status(set_of(row), plan, views_of(row), std::nullopt, kNow);
  for (const std::string& wanted : words(row.said, ' ')) {
    const std::string type = wanted.substr(0, wanted.find('='));
    const Json* found = condition_in(list_at(status, {"conditions"}), type);
    ASSERT_NE(found, nullptr) << type;
    EXPECT_EQ(type + "=" + str(*found, {"status"}) + "/" + str(*found, {"reason"}), wanted);
  }
}
INSTANTIATE_TEST_SUITE_P(Reference, ReplicaSetCases, ::testing::ValuesIn(kCases),
                         [](const auto& row) { return std::string(row.param.id); });

TEST(ReplicaSetTimes, ADeadlineIsLookedAtAgainWhenItPasses) {
  const SetCase row{"",
                    "p=c1",
                    R"({"type": "Progressive", "progressive": {"progressDeadline": "5m"}})",
                    true,
                    "c1 Applied=True Progressing=True",
                    "",
                    ""};
  const ReplicaSetPlan plan = plan_of(row);
  ASSERT_TRUE(plan.recheck);
  EXPECT_EQ(*plan.recheck, std::chrono::minutes(4));
}

TEST(ReplicaSetNames, AreLegalLabelValuesTogetherWithTheirNamespace) {
  Json set = set_of(kCases[0]);
  set["metadata"]["name"] = std::string(58, 'x');
  EXPECT_TRUE(owner_label_problem(set).empty()) << "63 characters";
  set["metadata"]["name"] = std::string(59, 'x');
  EXPECT_FALSE(owner_label_problem(set).empty());
}

class ReplicaSetLife : public ::testing::Test {
 protected:
  void start(const std::string& name, const Json& more = Json::object()) {
    testkit::put_decided(*hub_, "apps", "p", {{"", {"c1", "c2"}}});
    Json set = set_of(SetCase{"", "p=c1,c2", "", false, "", "", ""});
    set["metadata"]["name"] = name;
    set["spec"].update(more);
    hub_->put(api::manifest_work_replica_sets(), set);
    controller_.start([this](controller::Manager& manager, const std::shared_ptr<kube::WriteGate>& gate) {
      add_replica_set_controller(manager, hub_->client(gate));
    });
    ASSERT_TRUE(eventually([&] { return hub_->all(api::manifest_works()).size() == 2; }));
  }
  std::optional<Json> set(const std::string& name) const { return hub_->get(api::manifest_work_replica_sets(), "apps", name); }

  std::shared_ptr<testkit::FakeApi> hub_ = testkit::FakeApi::make();
  testkit::Killable controller_;
};

TEST_F(ReplicaSetLife, AForegroundDeletionWaitsForTheLastWork) {
  start("rs", {{"cascadeDeletionPolicy", "Foreground"}});
  Json held = hub_->all(api::manifest_works()).front();
  held["metadata"]["finalizers"] = Json::array({"example.com/hold"});
  hub_->put(api::manifest_works(), held);
  ASSERT_TRUE(hub_->client().remove(api::manifest_work_replica_sets(), "apps", "rs"));
  ASSERT_TRUE(eventually([&] {
    const auto works = hub_->all(api::manifest_works());
    return works.size() == 1 && is_deleting(works.front());
  }));
  testing::settle(*hub_, *hub_);
  EXPECT_TRUE(set("rs")) << "a work of it is still there";
  held = hub_->all(api::manifest_works()).front();
  const Json freed{{"metadata", {{"finalizers", Json()}}}};
  ASSERT_TRUE(hub_->client().patch(api::manifest_works(), namespace_of(held), name_of(held), kube::PatchType::kMerge, freed));
  EXPECT_TRUE(eventually([&] { return !set("rs"); }));
}

TEST_F(ReplicaSetLife, ADotInTheNameKeepsNoWorkFromWakingItsSet) {  // upstream drops such events
  start("web.v2");
  const Json work = hub_->all(api::manifest_works()).front();
  hub_->erase(api::manifest_works(), namespace_of(work), name_of(work));
  EXPECT_TRUE(eventually([&] { return hub_->all(api::manifest_works()).size() == 2; })) << "its work is made again at once";
}

}  // namespace
}  // namespace fleetadm::work
