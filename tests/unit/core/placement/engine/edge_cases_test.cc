// Edge cases (docs/reference/placement.md), one row a case: a namespace "team" bound to a set of everything, clusters, existing
// decisions, a placement spec, and what must come out.
#include <algorithm>
#include <gtest/gtest.h>
#include <limits>

#include "core/api/push_member.h"
#include "core/placement/engine/decode.h"
#include "core/placement/engine/stages.h"
#include "tests/unit/core/placement/fixtures.h"

namespace fleetadm::placement {
namespace {

using fleetadm::test::condition_of;
using fleetadm::test::parsed;
using fleetadm::test::put_object;
using fleetadm::test::seconds_from_now;
using fleetadm::test::test_now;

struct EdgeCase {
  const char* id;
  const char* objects;  // JSON list, besides the set "all" and its binding
  const char* spec;     // of the placement team/p
  std::vector<std::string> selected;
  const char* satisfied;      // reason of PlacementSatisfied
  const char* misconfigured;  // message of PlacementMisconfigured where it is True
  int requeue_seconds = 0;    // from now; 0: none
};

std::string cluster(const std::string& name, const std::string& labels = "{}", const std::string& taints = "[]",
                    const std::string& claims = "[]") {
  return R"({"kind":"ManagedCluster","metadata":{"name":")" + name + R"(","labels":)" + labels + R"(},"spec":{"taints":)" +
         taints + R"(},"status":{"clusterClaims":)" + claims + "}}";
}
std::string taint(const std::string& effect, int age = 0, const std::string& key = "k") {
  return R"({"key":")" + key + R"(","effect":")" + effect + R"(","timeAdded":")" + seconds_from_now(-age) + R"("})";
}
std::string decided(const std::string& names, const std::string& ns = "team", const std::string& label = "p",
                    const std::string& name = "p-decision-1") {
  std::vector<std::string> list;
  std::size_t at = 0;
  while (at <= names.size()) {
    const std::size_t comma = std::min(names.find(',', at), names.size());
    list.push_back(names.substr(at, comma - at));
    at = comma + 1;
  }
  return dump_json(fleetadm::test::decision_object(ns, name, label, list));
}
std::string list(std::initializer_list<std::string> objects) {
  std::string out = "[";
  for (const auto& object : objects) out += (out.size() > 1 ? "," : "") + object;
  return out + "]";
}

Pass run(const std::string& objects, const std::string& spec, bool bound = true) {
  FleetState world;
  put_object(world, fleetadm::test::everything_set("all"));
  if (bound) put_object(world, fleetadm::test::binding_object("team", "all"));
  for (const Json& object : parsed(objects)) put_object(world, object);
  return schedule(world, decode_placement(fleetadm::test::placement_object("team", "p", parsed(spec))), test_now(),
                  {.record = true});
}

void expect(const std::string& id, const Pass& pass, const std::vector<std::string>& selected, const std::string& satisfied,
            const std::string& misconfigured = {}, int requeue_seconds = 0) {
  EXPECT_EQ(pass.selected, selected) << id;
  EXPECT_EQ(condition_of(pass, "PlacementSatisfied").reason, satisfied) << id;
  EXPECT_EQ(condition_of(pass, "PlacementMisconfigured").status, misconfigured.empty() ? "False" : "True") << id;
  if (!misconfigured.empty()) {
    EXPECT_EQ(condition_of(pass, "PlacementMisconfigured").message, misconfigured) << id;
  }
  const std::string requeue = pass.requeue_at ? format_time(*pass.requeue_at) : "";
  EXPECT_EQ(requeue, requeue_seconds == 0 ? "" : seconds_from_now(requeue_seconds)) << id;
}

const std::string kThree = list({cluster("a"), cluster("b"), cluster("c")});

TEST(PlacementEdgeCases, Eligibility) {
  Pass pass = run(list({cluster("a"), cluster("b")}), "{}", false);
  expect("P1", pass, {}, "NoManagedClusterSetBindings");
  ASSERT_EQ(pass.decisions.size(), 1U);
  EXPECT_EQ(pass.decisions[0].name, "p-decision-1");
  EXPECT_TRUE(pass.decisions[0].clusters.empty());
  const std::string ghost = dump_json(fleetadm::test::binding_object("team", "ghost"));
  expect("P2", run(list({cluster("a"), ghost}), "{}", false), {}, "NoManagedClusterSetBindings");
  pass = run(kThree, R"({"clusterSets":["s9","s8"]})");
  expect("P3", pass, {}, "NoIntersection");
  EXPECT_EQ(condition_of(pass, "PlacementSatisfied").message,
            "None of ManagedClusterSets [s9,s8] is bound to placement namespace");
  pass = run(list({decided("x1")}), "{}");
  expect("P4", pass, {}, "AllManagedClusterSetsEmpty");
  EXPECT_EQ(condition_of(pass, "PlacementSatisfied").message, "All ManagedClusterSets [all] have no member ManagedCluster");
  const std::string second = dump_json(fleetadm::test::everything_set("more"));
  const std::string bound = dump_json(fleetadm::test::binding_object("team", "more"));
  expect("P5", run(list({cluster("a"), second, bound}), "{}"), {"a"}, "AllDecisionsScheduled");
  const std::string going = R"({"kind":"ManagedCluster","metadata":{"name":"z","deletionTimestamp":"2026-03-01T09:00:00Z"}})";
  expect("P6", run(list({going, cluster("a"), decided("z")}), "{}"), {"a"}, "AllDecisionsScheduled");
}

TEST(PlacementEdgeCases, SelectorTypesOfSets) {
  const auto with_set = [](const char* selector) {
    FleetState world;
    put_object(world, fleetadm::test::set_object("s", parsed(selector)));
    put_object(world, fleetadm::test::binding_object("team", "s"));
    put_object(world, fleetadm::test::cluster_object("in", {{"cluster.open-cluster-management.io/clusterset", "s"}}));
    put_object(world, fleetadm::test::cluster_object("out"));
    return schedule(world, decode_placement(fleetadm::test::placement_object("team", "p", Json::object())), test_now());
  };
  EXPECT_EQ(with_set("{}").selected, std::vector<std::string>{"in"}) << "P7";
  EXPECT_EQ(with_set(R"({"selectorType":"ExclusiveClusterSetLabel"})").selected, std::vector<std::string>{"in"});
  EXPECT_EQ(with_set(R"({"selectorType":"LabelSelector","labelSelector":{}})").selected, (std::vector<std::string>{"in", "out"}))
      << "P7";
  EXPECT_TRUE(with_set(R"({"selectorType":"LabelSelector"})").selected.empty()) << "P7";
  const Pass failed = with_set(R"({"selectorType":"Weird"})");
  EXPECT_EQ(failed.failure, R"(failed to get clusters from ClusterSet "s": selectorType is not right: Weird)") << "P8";
  EXPECT_TRUE(failed.conditions.empty() && failed.decisions.empty()) << "P8";
}

TEST(PlacementEdgeCases, DisabledAndNumberOfClusters) {
  Json object = fleetadm::test::placement_object("team", "p", Json::object());
  object["metadata"]["annotations"] = {{std::string(kDisableAnnotation), "true"}};
  EXPECT_TRUE(schedule(FleetState(), decode_placement(object), test_now()).skipped) << "P9";
  object["metadata"]["annotations"] = {{std::string(kDisableAnnotation), "True"}};
  EXPECT_FALSE(schedule(FleetState(), decode_placement(object), test_now()).skipped) << "P9";
  expect("P10", run(kThree, R"({"numberOfClusters":0})"), {}, "NoManagedClusterMatched");
  const Pass pass = run(list({cluster("a")}), R"({"numberOfClusters":3})");
  expect("P11", pass, {"a"}, "NotAllDecisionsScheduled");
  EXPECT_EQ(condition_of(pass, "PlacementSatisfied").message, "2 cluster decisions unscheduled");
  expect("P12", run(kThree, R"({"numberOfClusters":-1})"), {}, "NoManagedClusterMatched",
         ":numberOfClusters must not be negative: -1");
  expect("P12 without clusters", run("[]", R"({"numberOfClusters":-1})"), {}, "AllManagedClusterSetsEmpty",
         ":numberOfClusters must not be negative: -1");
}

TEST(PlacementEdgeCases, Predicates) {
  const std::string claims = R"([{"name":"region","value":"eu"}])";
  const std::string some = list({cluster("l1", R"({"env":"prod"})", "[]", claims),
                                 cluster("l2", R"({"env":"dev"})", "[]", claims), cluster("l3", R"({"env":"prod"})")});
  const std::vector<EdgeCase> cases = {
      {"P13",
       nullptr,
       R"({"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchLabels":{"env":"prod"}},
           "claimSelector":{"matchExpressions":[{"key":"region","operator":"In","values":["eu"]}]}}},
           {"requiredClusterSelector":{"labelSelector":{"matchLabels":{"env":"dev"}}}}]})",
       {"l1", "l2"},
       "AllDecisionsScheduled",
       ""},
      {"P14",
       nullptr,
       R"({"predicates":[{"requiredClusterSelector":{"claimSelector":{"matchExpressions":[{"key":"region","operator":"NotIn","values":["eu"]}]}}}]})",
       {"l3"},
       "AllDecisionsScheduled",
       ""},
      {"P16",
       nullptr,
       R"({"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchExpressions":[{"key":"k","operator":"Gt","values":["1"]}]}}}]})",
       {},
       "NoManagedClusterMatched",
       R"(Predicate:"Gt" is not a valid label selector operator)"},
      {"P17, with a label error for CEL's",
       nullptr,
       R"({"predicates":[{"requiredClusterSelector":{}},
           {"requiredClusterSelector":{"labelSelector":{"matchExpressions":[{"key":"k","operator":"In"}]}}}]})",
       {},
       "NoManagedClusterMatched",
       "Predicate:values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"},
      {"CEL without an evaluator",
       nullptr,
       R"({"predicates":[{"requiredClusterSelector":{"celSelector":{"celExpressions":["true"]}}}]})",
       {},
       "NoManagedClusterMatched",
       "Predicate:celSelector is not supported by this scheduler"},
      {"CEL without expressions",
       nullptr,
       R"({"predicates":[{"requiredClusterSelector":{"celSelector":{"celExpressions":[]}}}]})",
       {"l1", "l2", "l3"},
       "AllDecisionsScheduled",
       ""},
  };
  for (const EdgeCase& one : cases) expect(one.id, run(some, one.spec), one.selected, one.satisfied, one.misconfigured);
  const Pass claim = run(some, R"({"predicates":[{"requiredClusterSelector":{"claimSelector":{"matchExpressions":[
      {"key":"region","operator":"In","values":["https://a"]}]}}}]})");
  EXPECT_EQ(condition_of(claim, "PlacementMisconfigured").status, "True") << "P15";
  EXPECT_TRUE(condition_of(claim, "PlacementMisconfigured")
                  .message.starts_with(R"(Predicate:values[0][region]: Invalid value: "https://a": )"));
  expect(
      "P18",
      run("[]",
          R"({"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchExpressions":[{"key":"k","operator":"Gt"}]}}}]})"),
      {}, "AllManagedClusterSetsEmpty");
}

TEST(PlacementEdgeCases, TaintsAndTolerations) {
  const std::string three = cluster("t1", "{}", "[" + taint("NoSelect") + "]") + "," +
                            cluster("t2", "{}", "[" + taint("NoSelectIfNew") + "]") + "," +
                            cluster("t3", "{}", "[" + taint("PreferNoSelect") + "]");
  expect("P28", run("[" + three + "]", "{}"), {"t3"}, "AllDecisionsScheduled");
  expect("P29", run("[" + three + "," + decided("t1,t2,t3") + "]", "{}"), {"t2", "t3"}, "AllDecisionsScheduled");
  const std::string aged = cluster("t", "{}", "[" + taint("NoSelect", 10) + "]");
  const std::string thirty = R"({"tolerations":[{"operator":"Exists","tolerationSeconds":30}]})";
  expect("P30", run(list({aged, decided("t")}), thirty), {"t"}, "AllDecisionsScheduled", "", 20);
  expect("P31", run(list({aged}), thirty), {"t"}, "AllDecisionsScheduled");
  expect(
      "P32",
      run(list({aged, decided("t")}), R"({"tolerations":[{"operator":"Exists","tolerationSeconds":30},{"operator":"Exists"}]})"),
      {"t"}, "AllDecisionsScheduled", "", 20);
  expect(
      "P32 reversed",
      run(list({aged, decided("t")}), R"({"tolerations":[{"operator":"Exists"},{"operator":"Exists","tolerationSeconds":30}]})"),
      {"t"}, "AllDecisionsScheduled");
  const std::string two = cluster("t", "{}", "[" + taint("NoSelect", 10, "x") + "," + taint("NoSelect", 10, "y") + "]");
  expect("P33", run(list({two, decided("t")}), R"({"tolerations":[{"key":"x","operator":"Exists","tolerationSeconds":60},
                                                           {"key":"y","operator":"Exists","tolerationSeconds":30}]})"),
         {"t"}, "AllDecisionsScheduled", "", 20);
  expect("P34",
         run(list({aged, cluster("u", R"({"env":"dev"})"), decided("t")}),
             R"({"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchLabels":{"env":"dev"}}}}],
                 "tolerations":[{"operator":"Exists","tolerationSeconds":30}]})"),
         {"u"}, "AllDecisionsScheduled", "", 20);
  const std::string if_new = cluster("t", "{}", "[" + taint("NoSelectIfNew", 10) + "]");
  expect("P35", run(list({if_new}), R"({"tolerations":[{"operator":"Exists","tolerationSeconds":5}]})"), {},
         "NoManagedClusterMatched");
  const std::string fresh = cluster("t", "{}", "[" + taint("NoSelect") + "]");
  expect("P36", run(list({fresh}), R"({"tolerations":[{"operator":"Exists","tolerationSeconds":0}]})"), {},
         "NoManagedClusterMatched");
  expect("P36 strict", run(list({aged}), R"({"tolerations":[{"operator":"Exists","tolerationSeconds":10}]})"), {},
         "NoManagedClusterMatched");
  expect("seconds beyond all time",
         run(list({aged, decided("t")}), R"({"tolerations":[{"operator":"Exists","tolerationSeconds":9223372036854775807}]})"),
         {"t"}, "AllDecisionsScheduled");
  expect("P37", run(list({fresh}), R"({"tolerations":[{"operator":"Equal"}]})"), {}, "NoManagedClusterMatched",
         "TaintToleration:If the key is empty, operator must be Exists.");
  expect("P37 value", run(list({fresh}), R"({"tolerations":[{"key":"k","operator":"Exists","value":"v"}]})"), {},
         "NoManagedClusterMatched", "TaintToleration:If the operator is Exists, the value should be empty.");
  expect("P37 no candidate", run("[]", R"({"tolerations":[{"operator":"Equal"}]})"), {}, "AllManagedClusterSetsEmpty");
  expect("P38", run(list({fresh}), R"({"tolerations":[{"key":"k","operator":"Foo"}]})"), {}, "NoManagedClusterMatched");
  const std::string odd = cluster("t", "{}", "[" + taint("Odd") + "]");
  expect("an effect of no name", run(list({odd}), "{}"), {}, "NoManagedClusterMatched");
  expect("tolerated by its word", run(list({odd}), R"({"tolerations":[{"operator":"Exists","effect":"Odd"}]})"), {"t"},
         "AllDecisionsScheduled");
  expect("and by no other", run(list({odd}), R"({"tolerations":[{"operator":"Exists","effect":"Even"}]})"), {},
         "NoManagedClusterMatched");
}

TEST(PlacementEdgeCases, MessagesFitAStatus) {
  std::string mode;
  for (int i = 0; i < 20'000; ++i) mode += "\u00e9";
  const Pass pass = run(list({cluster("a")}), R"({"prioritizerPolicy":{"mode":")" + mode + R"("}})");
  const std::string& message = condition_of(pass, "PlacementMisconfigured").message;
  EXPECT_LE(message.size(), 32768U);
  EXPECT_GT(message.size(), 32760U);
  EXPECT_TRUE(message.starts_with(":incorrect prioritizer policy mode: ")) << message.substr(0, 60);
  EXPECT_TRUE(message.ends_with("\u00e9...")) << message.substr(message.size() - 8);
}

TEST(PlacementEdgeCases, ClaimSelectorsHaveNoLabels) {
  const std::string claimed = cluster("t", "{}", "[]", R"([{"name":"region","value":"eu"}])");
  expect(
      "matchLabels of claims are no part of the kind",
      run(list({claimed}), R"({"predicates":[{"requiredClusterSelector":{"claimSelector":{"matchLabels":{"region":"us"}}}}]})"),
      {"t"}, "AllDecisionsScheduled");
  expect("expressions are",
         run(list({claimed}), R"({"predicates":[{"requiredClusterSelector":{"claimSelector":{"matchLabels":{"region":"eu"},
                                  "matchExpressions":[{"key":"region","operator":"In","values":["us"]}]}}}]})"),
         {}, "NoManagedClusterMatched");
}

Scores scores_of(const Pass& pass, std::string_view prioritizer) {
  for (const auto& record : pass.prioritizers) {
    if (record.name == prioritizer) return record.scores;
  }
  return {};
}

TEST(PlacementEdgeCases, BalanceAndSteady) {
  const std::string abc = cluster("a") + "," + cluster("b") + "," + cluster("c");
  const auto foreign = [](const std::string& names, const std::string& id) {
    return decided(names, "other", "q", "q-decision-" + id);
  };
  EXPECT_EQ(
      scores_of(run("[" + abc + "," + foreign("a,b,c", "1") + "," + foreign("b,c", "2") + "," + foreign("c", "3") + "]", "{}"),
                "Balance"),
      (Scores{{"a", 32}, {"b", -32}, {"c", -100}}))
      << "P39";
  EXPECT_EQ(scores_of(run("[" + abc + "," + foreign("a,gone,gone,gone,gone,gone", "1") + "]", "{}"), "Balance"),
            (Scores{{"a", 60}, {"b", 100}, {"c", 100}}))
      << "P40";
  EXPECT_EQ(scores_of(run("[" + abc + "," + foreign("a,a,b", "1") + "]", "{}"), "Balance"),
            (Scores{{"a", -100}, {"b", 0}, {"c", 100}}))
      << "P41";
  EXPECT_EQ(scores_of(run("[" + abc + "," + decided("a", "team", "", "loose") + "]", "{}"), "Balance"),
            (Scores{{"a", -100}, {"b", 100}, {"c", 100}}))
      << "P42";
  const Pass same_name = run("[" + abc + "," + decided("a", "other", "p", "p-decision-1") + "]", "{}");
  EXPECT_EQ(scores_of(same_name, "Balance"), (Scores{{"a", -100}, {"b", 100}, {"c", 100}})) << "P43";
  EXPECT_EQ(scores_of(same_name, "Steady"), (Scores{{"a", 0}, {"b", 0}, {"c", 0}})) << "P43";
  EXPECT_EQ(scores_of(run("[" + abc + "," + foreign("a,a,a,a,b,b,b,b,b,b,x,x,x,x,x,x,x,x,x,x", "1") + "]", "{}"), "Balance"),
            (Scores{{"a", 18}, {"b", -18}, {"c", 100}}))
      << "P44";
}

std::string sized(const std::string& name, const std::string& allocatable, const std::string& capacity) {
  return R"({"kind":"ManagedCluster","metadata":{"name":")" + name + R"("},"status":{"allocatable":)" + allocatable +
         R"(,"capacity":)" + capacity + "}}";
}

TEST(PlacementEdgeCases, Resources) {
  const std::string fleet = list({sized("r1", R"({"cpu":"4","memory":"16Gi"})", R"({"cpu":"4","memory":"16Gi"})"),
                                  sized("r2", R"({"cpu":"6500m","memory":"12Gi"})", R"({"cpu":"8","memory":"12Gi"})"),
                                  sized("r3", R"({"cpu":"11.5","memory":"48G"})", R"({"cpu":"12","memory":"48G"})"),
                                  sized("r4", "{}", "{}"), sized("r5", R"({"cpu":"11.5"})", "{}")});
  const std::string both = R"({"prioritizerPolicy":{"mode":"Exact","configurations":[
      {"scoreCoordinate":{"type":"BuiltIn","builtIn":"ResourceAllocatableCPU"},"weight":1},
      {"scoreCoordinate":{"type":"BuiltIn","builtIn":"ResourceAllocatableMemory"},"weight":1}]}})";
  const Pass pass = run(fleet, both);
  EXPECT_EQ(scores_of(pass, "ResourceAllocatableCPU"), (Scores{{"r1", -100}, {"r2", -33}, {"r3", 100}})) << "P45";
  EXPECT_EQ(scores_of(pass, "ResourceAllocatableMemory"), (Scores{{"r1", -75}, {"r2", -100}, {"r3", 100}})) << "P45";
  EXPECT_EQ(pass.selected, (std::vector<std::string>{"r3", "r4", "r5", "r2", "r1"})) << "P45";
  EXPECT_EQ(scores_of(run(list({sized("one", R"({"cpu":"4"})", R"({"cpu":"4"})")}), both), "ResourceAllocatableCPU"),
            (Scores{{"one", 100}}))
      << "P46";
  EXPECT_EQ(
      scores_of(
          run(list({sized("x", R"({"cpu":"0.3"})", R"({"cpu":"1"})"), sized("y", R"({"cpu":"300m"})", R"({"cpu":"1"})")}), both),
          "ResourceAllocatableCPU"),
      (Scores{{"x", 100}, {"y", -100}}))
      << "P47";
}

std::string policy(const std::string& mode, const std::string& configurations) {
  return R"({"prioritizerPolicy":{"mode":")" + mode + R"(","configurations":[)" + configurations + "]}}";
}
std::string built_in(const std::string& name, int weight, const std::string& extra = "") {
  return R"({"scoreCoordinate":{"type":"BuiltIn","builtIn":")" + name + "\"" + extra + R"(},"weight":)" + std::to_string(weight) +
         "}";
}
std::string addon(int weight) {
  return R"({"scoreCoordinate":{"type":"AddOn","addOn":{"resourceName":"r","scoreName":"s"}},"weight":)" +
         std::to_string(weight) + "}";
}
std::string score(const std::string& ns, int value, const std::string& until = "") {
  return R"({"kind":"AddOnPlacementScore","metadata":{"name":"r","namespace":")" + ns +
         R"("},"status":{"scores":[{"name":"s","value":)" + std::to_string(value) + "}]" +
         (until.empty() ? "" : R"(,"validUntil":")" + until + "\"") + "}}";
}

TEST(PlacementEdgeCases, WeightsAndModes) {
  expect("P48", run(list({cluster("cluster2"), cluster("cluster10")}), policy("Exact", "")), {"cluster10", "cluster2"},
         "AllDecisionsScheduled");
  const std::string used = list({cluster("alpha"), cluster("bravo"), decided("alpha", "other", "q", "q-decision-1")});
  EXPECT_EQ(run(used, policy("Additive", built_in("Steady", 0) + "," + built_in("Balance", -1))).sums,
            (Scores{{"alpha", 100}, {"bravo", -100}}))
      << "P49";
  const Pass twice = run(used, policy("Exact", built_in("Balance", 5) + "," + built_in("Balance", 2)));
  ASSERT_EQ(twice.prioritizers.size(), 1U) << "P50";
  EXPECT_EQ(twice.prioritizers[0].weight, 2) << "P50";
  EXPECT_EQ(run(list({cluster("a"), score("a", 10)}), policy("Exact", addon(3) + "," + addon(2))).sums, (Scores{{"a", 50}}))
      << "P51";
  const Pass stray = run(list({cluster("a"), decided("a")}),
                         policy("Additive", built_in("Steady", 3, R"(,"addOn":{"resourceName":"r","scoreName":"s"})") + "," +
                                                built_in("Balance", 0)));
  EXPECT_EQ(stray.sums, (Scores{{"a", 400}})) << "P52";
  expect("P53", run(kThree, policy("Additive", built_in("Unheard", 1))), {}, "NoManagedClusterMatched",
         ":incorrect builtin prioritizer: Unheard");
  expect("P53 zero", run(kThree, policy("Additive", built_in("Unheard", 0))), {"a", "b", "c"}, "AllDecisionsScheduled");
  expect("P54", run(kThree, policy("Fancy", "")), {}, "NoManagedClusterMatched", ":incorrect prioritizer policy mode: Fancy");
  expect("no coordinate", run(kThree, policy("Additive", R"({"weight":1})")), {}, "NoManagedClusterMatched",
         ":scoreCoordinate field is required");
  expect("validated without clusters", run("[]", policy("Fancy", "")), {}, "AllManagedClusterSetsEmpty",
         ":incorrect prioritizer policy mode: Fancy");
}

TEST(PlacementEdgeCases, ScoresAndFailures) {
  const std::string fleet =
      list({cluster("a"), cluster("b"), cluster("c"), score("a", 90, seconds_from_now(-60)), score("b", -7)});
  const Pass expired = run(fleet, policy("Exact", addon(1)));
  EXPECT_EQ(expired.sums, (Scores{{"a", 0}, {"b", -7}, {"c", 0}})) << "P55";
  EXPECT_EQ(expired.verdict.code, Code::kWarning) << "P55";
  EXPECT_EQ(expired.verdict.plugin, "AddOn/r/s");
  EXPECT_EQ(expired.verdict.message, "AddOnPlacementScores a/r expired");
  expect("P55", expired, {"a", "c", "b"}, "AllDecisionsScheduled");
  const Pass valid = run(list({cluster("a"), score("a", 90, seconds_from_now(60))}), policy("Exact", addon(1)));
  ASSERT_TRUE(valid.scores_expire_at.has_value());
  EXPECT_EQ(format_time(*valid.scores_expire_at), seconds_from_now(60));

  FleetState world;
  put_object(world, fleetadm::test::everything_set("all"));
  put_object(world, fleetadm::test::binding_object("team", "all"));
  put_object(world, fleetadm::test::cluster_object("a"));
  const std::string name(64, 'n');
  const Pass long_name =
      schedule(world, decode_placement(fleetadm::test::placement_object("team", name, Json::object())), test_now());
  expect("P56", long_name, {}, "NotAllDecisionsScheduled");
  EXPECT_EQ(
      condition_of(long_name, "PlacementSatisfied").message,
      "values[0][cluster.open-cluster-management.io/placement]: Invalid value: \"" + name + "\": must be no more than 63 bytes");
}

TEST(PlacementEdgeCases, Stickiness) {
  const auto one = [](const std::string& objects, const std::string& extra = "") {
    const Pass pass = run(objects, R"({"numberOfClusters":1)" + extra + "}");
    return pass.selected.empty() ? std::string() : pass.selected.front();
  };
  const auto foreign = [](const std::string& names, const std::string& id) {
    return decided(names, "other", "q", "q-decision-" + id);
  };
  const std::string first = list({cluster("alpha"), cluster("bravo"), decided("alpha"), foreign("alpha,alpha", "1")});
  EXPECT_EQ(one(first), "bravo") << "P57";
  EXPECT_EQ(one(list({cluster("alpha"), cluster("zeta"), decided("zeta"), foreign("zeta,x,x", "1")})), "alpha") << "P57, a tie";
  EXPECT_EQ(one(list({cluster("alpha"), cluster("zeta"), decided("alpha"), foreign("alpha,x,x", "1")})), "alpha")
      << "P57, a tie that stays";
  EXPECT_EQ(one(first, R"(,"prioritizerPolicy":{"mode":"Additive","configurations":[)" + built_in("Steady", 3) + "]}"), "alpha")
      << "P57, weight 3";
}

std::vector<std::vector<std::string>> groups_of(const Pass& pass) {
  std::vector<std::vector<std::string>> groups;
  for (const GroupStatus& group : pass.groups) {
    groups.emplace_back();
    for (const WantedDecision& one : pass.decisions) {
      if (one.group_index == group.index) groups.back().insert(groups.back().end(), one.clusters.begin(), one.clusters.end());
    }
    groups.back().push_back("#" + group.name);
  }
  return groups;
}

TEST(PlacementEdgeCases, DecisionGroups) {
  std::string seven = "[";
  for (int i = 1; i <= 7; ++i) {
    std::string labels = i % 2 == 0 ? R"("tier":"canary")" : "";
    if (i >= 4) labels += (labels.empty() ? "" : ",") + std::string(R"("zone":"z")");
    seven += (i > 1 ? "," : "") + cluster("w" + std::to_string(i), "{" + labels + "}");
  }
  seven += "]";
  const auto grouped = [&](const std::string& size, const std::string& groups = "") {
    return run(seven, R"({"decisionStrategy":{"groupStrategy":{"clustersPerDecisionGroup":)" + size + R"(,"decisionGroups":[)" +
                          groups + "]}}}");
  };
  const auto by_label = [](const std::string& name, const std::string& label, const std::string& value) {
    return R"({"groupName":")" + name + R"(","groupClusterSelector":{"labelSelector":{"matchLabels":{")" + label + R"(":")" +
           value + R"("}}}})";
  };
  using Groups = std::vector<std::vector<std::string>>;
  EXPECT_EQ(groups_of(run(seven, "{}")), (Groups{{"w1", "w2", "w3", "w4", "w5", "w6", "w7", "#"}}));
  EXPECT_EQ(groups_of(grouped("\"30%\"")), (Groups{{"w1", "w2", "w3", "#"}, {"w4", "w5", "w6", "#"}, {"w7", "#"}})) << "P58";
  EXPECT_EQ(groups_of(grouped("2", by_label("canary", "tier", "canary") + "," + by_label("zone", "zone", "z"))),
            (Groups{{"w2", "w4", "#canary"}, {"w6", "#canary"}, {"w5", "w7", "#zone"}, {"w1", "w3", "#"}}))
      << "P63, P64";
  EXPECT_EQ(groups_of(grouped("4", by_label("none", "tier", "xx") + "," + by_label("canary", "tier", "canary"))),
            (Groups{{"w2", "w4", "w6", "#canary"}, {"w1", "w3", "w5", "w7", "#"}}))
      << "P62";
  const Pass text = grouped("\"3\"");
  EXPECT_TRUE(text.decisions.empty()) << "P60";
  expect("P60", text, {"w1", "w2", "w3", "w4", "w5", "w6", "w7"}, "AllDecisionsScheduled",
         ":3 invalid type: string is not a percentage");
  EXPECT_EQ(text.selected_count, 7);
  const Pass second_bad = grouped("4", by_label("canary", "tier", "canary") + "," + by_label("bad", "bad key", "x"));
  EXPECT_EQ(groups_of(second_bad), (Groups{{"w2", "w4", "w6", "#canary"}})) << "P61";
}

TEST(PlacementEdgeCases, PercentagesFollowFloatingPoint) {
  const auto length = [](const char* percent, std::int64_t total) { return group_length({0, percent}, total).value_or(-1); };
  EXPECT_EQ(length("7%", 100), 8) << "P59";
  EXPECT_EQ(length("14%", 100), 15);
  EXPECT_EQ(length("28%", 100), 29);
  EXPECT_EQ(length("55%", 100), 56);
  EXPECT_EQ(length("56%", 100), 57);
  EXPECT_EQ(length("28%", 25), 8);
  EXPECT_EQ(length("14%", 50), 8);
  int above = 0;
  for (std::int64_t percent = 1; percent <= 100; ++percent) {
    const std::string text = std::to_string(percent) + "%";
    for (std::int64_t total = 1; total <= 1000; ++total)
      above += length(text.c_str(), total) == (percent * total + 99) / 100 + 1 ? 1 : 0;
  }
  EXPECT_EQ(above, 141);
  for (const char* good : {"1_0%", "+20%", "1e1%", "inf%", "NaN%", "0x1p3%", "-5%"}) EXPECT_NE(length(good, 10), -1) << good;
  for (const char* bad : {"", "%", "3", "abc", " 50%", "50% ", "3%%", "0x10%", "1__0%", "_1%", "+nan%", "1e400%"}) {
    EXPECT_EQ(length(bad, 10), -1) << bad;
  }
}

TEST(PlacementEdgeCases, OnlyTheBestAreOrderedAndTiesGoByName) {
  // The same by a full sort, over sums that repeat, that do not, and that are as far apart as numbers can be.
  std::uint64_t state = 7;
  const auto next = [&] { return state = state * 6364136223846793005U + 1442695040888963407U; };
  for (int round = 0; round < 60; ++round) {
    std::vector<std::int64_t> sums(static_cast<std::size_t>(1 + round * 3));
    for (std::int64_t& sum : sums) {
      sum = round % 3 == 0 ? static_cast<std::int64_t>(next())
                           : static_cast<std::int64_t>(next() >> 33) % (round % 3 == 1 ? 5 : 9001);
    }
    if (round % 6 == 0) sums.front() = std::numeric_limits<std::int64_t>::min();
    std::vector<std::uint32_t> order(sums.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return sums[a] > sums[b]; });
    for (const std::size_t take : {std::size_t{0}, std::size_t{1}, sums.size() / 2, sums.size(), sums.size() + 5}) {
      const std::vector<std::uint32_t> wanted(order.begin(),
                                              order.begin() + static_cast<std::ptrdiff_t>(std::min(take, order.size())));
      ASSERT_EQ(best_of(sums, take), wanted) << "round " << round << ", take " << take;
    }
  }
}

TEST(PlacementEdgeCases, ScoreNoteIsCutBeforeAThousandBytes) {
  EXPECT_EQ(run(list({cluster("b"), cluster("a"), decided("b")}), "{}").score_note, "a:100 b:200 ");
  std::string many = "[";
  for (int i = 100; i < 300; ++i) many += (i > 100 ? "," : "") + cluster("cluster" + std::to_string(i));
  const std::string note = run(many + "]", "{}").score_note;
  EXPECT_EQ(note.substr(note.size() - 7), " ......");
  EXPECT_LE(note.size(), 1006U);
  EXPECT_GT(note.size(), 980U);
}

TEST(PlacementEdgeCases, ObjectsOfAHundred) {
  std::string fleet = "[";
  for (int i = 0; i < 250; ++i)
    fleet += (i > 0 ? "," : "") + cluster("cluster" + std::to_string(i), i < 120 ? R"({"tier":"canary"})" : "{}");
  const Pass pass = run(fleet + "," + decided("cluster1", "team", "p", "p-decision-9") + "]",
                        R"({"decisionStrategy":{"groupStrategy":{"clustersPerDecisionGroup":150,"decisionGroups":[
                            {"groupName":"canary","groupClusterSelector":{"labelSelector":{"matchLabels":{"tier":"canary"}}}}]}}})");
  ASSERT_EQ(pass.decisions.size(), 4U) << "P65";
  std::vector<std::size_t> sizes;
  std::vector<int> indexes;
  for (const WantedDecision& one : pass.decisions) {
    sizes.push_back(one.clusters.size());
    indexes.push_back(one.group_index);
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{100, 20, 100, 30}));
  EXPECT_EQ(indexes, (std::vector<int>{0, 0, 1, 1}));
  EXPECT_EQ(pass.decisions[0].clusters.front(), "cluster0");
  EXPECT_EQ(pass.decisions[0].clusters.back(), "cluster80");
  EXPECT_EQ(pass.surplus, std::vector<std::string>{"p-decision-9"}) << "P67";
}

TEST(DecodedCluster, APushMemberIsUnreachableUntilItsFirstReport) {
  Json member{{"metadata",
               {{"name", "c1"},
                {"creationTimestamp", "2026-01-01T00:00:00Z"},
                {"labels", {{std::string(api::kModeLabel), std::string(api::kPushMode)}}}}},
              {"spec", {{"hubAcceptsClient", true}}}};
  const auto unseen = decode_cluster(member).taints;
  ASSERT_EQ(unseen.size(), 1U);
  EXPECT_EQ(unseen.front().key, "cluster.open-cluster-management.io/unreachable");
  EXPECT_EQ(unseen.front().effect, Effect::kNoSelect);
  EXPECT_EQ(unseen.front().added, parse_time("2026-01-01T00:00:00Z"));
  member["status"]["conditions"] = Json::array({{{"type", "HubAcceptedManagedCluster"}, {"status", "True"}}});
  EXPECT_TRUE(decode_cluster(member).taints.empty());
}

}  // namespace
}  // namespace fleetadm::placement
