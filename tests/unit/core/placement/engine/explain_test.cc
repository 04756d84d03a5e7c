// Explanations: what is said of single clusters, and the property that matters: whoever makes the suggested change gets the
// cluster admitted, as the scheduler itself decides.
#include "core/placement/engine/explain.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

#include "core/placement/engine/cel_evaluator.h"
#include "core/placement/engine/decode.h"
#include "tests/support/vectors.h"
#include "tests/unit/core/placement/fixtures.h"

namespace fleetadm::placement {
namespace {

using fleetadm::test::test_now;

const Objects::Key kKey{"apps", "web"};
constexpr const char* kSetOf = "cluster.open-cluster-management.io/clusterset";

void put(Objects& objects, Json object) {
  object["apiVersion"] = "cluster.open-cluster-management.io/v1";
  objects.put(std::move(object));
}

Objects fleet(Json spec) {
  Objects objects;
  put(objects, fleetadm::test::set_object("prod"));
  put(objects, fleetadm::test::set_object("spare"));
  put(objects, fleetadm::test::binding_object("apps", "prod"));
  put(objects, fleetadm::test::placement_object("apps", "web", std::move(spec)));
  return objects;
}

void put_cluster(Objects& objects, const std::string& name, Json labels, Json taints = Json::array()) {
  put(objects, fleetadm::test::cluster_object(name, std::move(labels), std::move(taints)));
}

Explained row(const Objects& objects, const std::string& cluster) {
  const Explanation all = explain(objects, kKey, test_now(), {.cluster = cluster});
  EXPECT_EQ(all.clusters.size(), 1U);
  return all.clusters.empty() ? Explained{} : all.clusters.front();
}

std::string texts(const Explained& one) {
  std::string out;
  for (const Change& change : one.changes) out += (out.empty() ? "" : "; ") + change_text(change, "apps");
  return out;
}

bool selected_after(Objects objects, const Objects::Key& key, const std::string& cluster, const std::vector<Change>& changes,
                    Instant now) {
  for (const Change& change : changes) apply_change(objects, key, cluster, change);
  const Json* placement = objects.find(ObjectKind::kPlacement, key.first, key.second);
  if (placement == nullptr) return false;
  const Pass pass = schedule(objects.world(), decode_placement(*placement), now);
  return std::find(pass.selected.begin(), pass.selected.end(), cluster) != pass.selected.end();
}

TEST(Explain, ASelectedClusterHasItsScoresAndGroup) {
  Objects objects = fleet({{"decisionStrategy",
                            {{"groupStrategy",
                              {{"decisionGroups",
                                {{{"groupName", "canary"},
                                  {"groupClusterSelector", {{"labelSelector", {{"matchLabels", {{"tier", "canary"}}}}}}}}}}}}}}});
  put_cluster(objects, "c1", {{kSetOf, "prod"}});
  put_cluster(objects, "c2", {{kSetOf, "prod"}, {"tier", "canary"}});
  put(objects, fleetadm::test::decision_object("apps", "web-decision-1", "web", {"c1"}));
  const Explained one = row(objects, "c1");
  EXPECT_EQ(one.stage, Stage::kSelected);
  EXPECT_TRUE(one.decided);
  EXPECT_EQ(one.rank, 1);
  EXPECT_EQ(one.sum, 200);
  ASSERT_EQ(one.shares.size(), 2U);
  EXPECT_EQ(one.shares[0].prioritizer, "Balance");
  EXPECT_EQ(one.shares[1].score, 100);
  EXPECT_EQ(one.group, 1);
  EXPECT_TRUE(one.changes.empty());
  EXPECT_EQ(row(objects, "c2").group_name, "canary");
}

TEST(Explain, ASetThatIsNotBound) {
  Objects objects = fleet({});
  put_cluster(objects, "c1", {{kSetOf, "spare"}});
  const Explained one = row(objects, "c1");
  EXPECT_EQ(one.stage, Stage::kBinding);
  EXPECT_EQ(one.rule, "it belongs to cluster set spare, which is not bound to namespace apps");
  EXPECT_EQ(texts(one), "bind set spare in namespace apps");
}

TEST(Explain, BindingTheWholeFleetIsTheLastResort) {
  Objects objects = fleet({});
  put(objects, fleetadm::test::everything_set("global"));
  put_cluster(objects, "c1", {});
  const Explained one = row(objects, "c1");
  EXPECT_EQ(one.stage, Stage::kBinding);
  EXPECT_EQ(texts(one), std::string("add label ") + kSetOf + "=prod");
}

TEST(Explain, ASetThatIsBoundButNotNamed) {
  Objects objects = fleet({{"clusterSets", {"prod"}}});
  put(objects, fleetadm::test::binding_object("apps", "spare"));
  put_cluster(objects, "c1", {{kSetOf, "spare"}});
  const Explained one = row(objects, "c1");
  EXPECT_EQ(one.rule, "it belongs to cluster set spare, spec.clusterSets names prod");
  EXPECT_EQ(texts(one), "add set spare to spec.clusterSets");
}

TEST(Explain, LabelsOfTheNearestPredicate) {
  Objects objects = fleet(fleetadm::test::parsed(R"({"predicates":[
    {"requiredClusterSelector":{"labelSelector":{"matchLabels":{"env":"prod","tier":"gold","x":"y"}}}},
    {"requiredClusterSelector":{"labelSelector":{"matchLabels":{"env":"prod"},
      "matchExpressions":[{"key":"legacy","operator":"DoesNotExist"},{"key":"zone","operator":"Exists"}]}}}]})"));
  put_cluster(objects, "c1", {{kSetOf, "prod"}, {"env", "dev"}, {"legacy", "1"}, {"zone", "a"}});
  const Explained one = row(objects, "c1");
  EXPECT_EQ(one.stage, Stage::kPredicate);
  EXPECT_EQ(one.rule, "label env=prod (it has env=dev), label !legacy (it has legacy=1), the nearest of 2 predicates");
  EXPECT_EQ(texts(one), "change label to env=prod; remove label legacy");
}

TEST(Explain, ClaimsAndWhatNothingSatisfies) {
  Objects objects = fleet(fleetadm::test::parsed(R"({"predicates":[{"requiredClusterSelector":{
    "labelSelector":{"matchExpressions":[{"key":"a","operator":"In","values":["1"]},{"key":"a","operator":"DoesNotExist"}]}}}]})"));
  put_cluster(objects, "c1", {{kSetOf, "prod"}});
  EXPECT_EQ(row(objects, "c1").stage, Stage::kPredicate);
  EXPECT_TRUE(row(objects, "c1").changes.empty()) << "the rule contradicts itself";
  objects = fleet(fleetadm::test::parsed(R"({"predicates":[{"requiredClusterSelector":{
    "claimSelector":{"matchExpressions":[{"key":"region","operator":"NotIn","values":["us","true"]},{"key":"region","operator":"Exists"}]}}}]})"));
  put_cluster(objects, "c1", {{kSetOf, "prod"}});
  EXPECT_EQ(texts(row(objects, "c1")), "let it report claim region=yes");
}

TEST(Explain, CelSelectorsAreAskedAndNotRepaired) {
  const auto cel = make_cel_evaluator();
  ASSERT_TRUE(cel.has_value()) << cel.error().message;
  Objects objects = fleet(fleetadm::test::parsed(R"j({"predicates":[
    {"requiredClusterSelector":{"celSelector":{"celExpressions":["managedCluster.metadata.name == 'c1'"]}}},
    {"requiredClusterSelector":{"labelSelector":{"matchLabels":{"env":"prod"}},
      "celSelector":{"celExpressions":["managedCluster.metadata.name.startsWith('c')"]}}}]})j"));
  for (const char* name : {"c1", "c2", "d1"}) put_cluster(objects, name, {{kSetOf, "prod"}});
  const Explanation all = explain(objects, kKey, test_now(), {.cel = cel->get()});
  ASSERT_EQ(all.clusters.size(), 3U);
  EXPECT_EQ(all.clusters[0].stage, Stage::kSelected);
  EXPECT_EQ(all.clusters[1].stage, Stage::kPredicate);
  EXPECT_EQ(texts(all.clusters[1]), "add label env=prod");
  EXPECT_EQ(all.clusters[2].stage, Stage::kPredicate);
  EXPECT_EQ(texts(all.clusters[2]), "") << "no label makes the expression true";
  EXPECT_NE(all.clusters[2].rule.find("CEL managedCluster.metadata.name == 'c1'"), std::string::npos) << all.clusters[2].rule;
}

TEST(Explain, TaintsThatAreNotTolerated) {
  Objects objects = fleet(fleetadm::test::parsed(R"({"tolerations":[{"key":"ok","operator":"Exists"}]})"));
  put_cluster(objects, "c1", {{kSetOf, "prod"}},
              fleetadm::test::parsed(R"([{"key":"ok","effect":"NoSelect"},{"key":"gpu","value":"a100","effect":"NoSelect"},
                {"key":"soft","effect":"PreferNoSelect"}])"));
  const Explained one = row(objects, "c1");
  EXPECT_EQ(one.stage, Stage::kTaint);
  EXPECT_EQ(one.rule, "taint gpu=a100:NoSelect is not tolerated");
  EXPECT_EQ(texts(one), "tolerate taint gpu=a100:NoSelect");
}

TEST(Explain, TheLimitTellsTheRankAndThePoints) {
  Objects objects = fleet({{"numberOfClusters", 1}});
  for (const char* name : {"c1", "c2", "c3"}) put_cluster(objects, name, {{kSetOf, "prod"}});
  put(objects, fleetadm::test::decision_object("apps", "web-decision-1", "web", {"c2"}));
  const Explained third = row(objects, "c3");
  EXPECT_EQ(third.stage, Stage::kLimit);
  EXPECT_EQ(third.rule, "numberOfClusters is 1, its rank is 3; the last selected cluster scored 200");
  EXPECT_EQ(texts(third), "raise numberOfClusters to 3");
  ASSERT_TRUE(third.alternative.has_value());
  EXPECT_EQ(change_text(*third.alternative, "apps"), "needs +101 points");
  EXPECT_EQ(row(objects, "c1").alternative->number, 100) << "the name decides where the points are equal";
}

TEST(Explain, EveryChangeThatIsNeededIsTold) {
  Objects objects = fleet(fleetadm::test::parsed(
      R"({"numberOfClusters":1,"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchLabels":{"env":"prod"}}}}]})"));
  put_cluster(objects, "a", {{kSetOf, "prod"}, {"env", "prod"}});
  put_cluster(objects, "z", {{kSetOf, "spare"}}, fleetadm::test::parsed(R"([{"key":"t","effect":"NoSelect"}])"));
  EXPECT_EQ(texts(row(objects, "z")),
            "bind set spare in namespace apps; add label env=prod; tolerate taint t:NoSelect; raise numberOfClusters to 2");
}

TEST(Explain, APlacementThatIsWrongIsSaidToBe) {
  Objects objects = fleet(fleetadm::test::parsed(R"({"prioritizerPolicy":{"mode":"Fancy"}})"));
  put_cluster(objects, "c1", {{kSetOf, "prod"}});
  put_cluster(objects, "c2", {});
  EXPECT_EQ(row(objects, "c1").stage, Stage::kScore);
  EXPECT_EQ(row(objects, "c1").rule, "incorrect prioritizer policy mode: Fancy");
  EXPECT_EQ(row(objects, "c2").stage, Stage::kBinding);
  objects = fleet(fleetadm::test::parsed(R"({"numberOfClusters":-1})"));
  put_cluster(objects, "c1", {{kSetOf, "prod"}});
  EXPECT_EQ(row(objects, "c1").stage, Stage::kLimit);
  objects = fleet(fleetadm::test::parsed(R"({"tolerations":[{"operator":"Equal"}]})"));
  put_cluster(objects, "c1", {{kSetOf, "prod"}});
  EXPECT_EQ(row(objects, "c1").stage, Stage::kTaint);
  EXPECT_TRUE(row(objects, "c1").changes.empty());
  objects = fleet(fleetadm::test::parsed(R"({"decisionStrategy":{"groupStrategy":{"clustersPerDecisionGroup":"many"}}})"));
  put_cluster(objects, "c1", {{kSetOf, "prod"}});
  EXPECT_EQ(row(objects, "c1").stage, Stage::kGroup);
}

TEST(Explain, AClusterThatIsGoingIsNotTaken) {
  Objects objects = fleet({});
  Json cluster = fleetadm::test::cluster_object("c1", {{kSetOf, "prod"}});
  cluster["metadata"]["deletionTimestamp"] = "2026-03-01T09:00:00Z";
  put(objects, cluster);
  EXPECT_EQ(row(objects, "c1").stage, Stage::kCluster);
}

// How often each stage was met, and how often a change was known.
struct Tally {
  std::map<Stage, int> stages;
  int admitted = 0;
  int alternatives = 0;
  int wrong = 0;
};

void check_suggestions(const Objects& objects, const Objects::Key& key, Instant now, const std::string& what, Tally& tally) {
  const Explanation all = explain(objects, key, now);
  const std::set<std::string> chosen(all.pass.selected.begin(), all.pass.selected.end());
  for (const Explained& one : all.clusters) {
    ++tally.stages[one.stage];
    const bool selected = one.stage == Stage::kSelected;
    if (selected) {
      EXPECT_TRUE(chosen.contains(one.cluster)) << what << " " << one.cluster;
    } else {
      EXPECT_FALSE(one.rule.empty()) << what << " " << one.cluster << " " << stage_word(one.stage);
    }
    if (!one.changes.empty()) {
      ++tally.admitted;
      if (!selected_after(objects, key, one.cluster, one.changes, now) && ++tally.wrong <= 5)
        ADD_FAILURE() << what << ": " << one.cluster << " is not admitted by: " << texts(one);
    }
    if (one.alternative) {
      ++tally.alternatives;
      if (!selected_after(objects, key, one.cluster, {*one.alternative}, now) && ++tally.wrong <= 5)
        ADD_FAILURE() << what << ": " << one.cluster << " is not admitted by " << change_text(*one.alternative, "");
      Change less = *one.alternative;
      --less.number;
      if (less.number > 0 && selected_after(objects, key, one.cluster, {less}, now) && ++tally.wrong <= 5)
        ADD_FAILURE() << what << ": " << one.cluster << " needs fewer points than " << one.alternative->number;
    }
  }
}

// A fleet of few words, so that rules and clusters meet often.
Objects random_fleet(std::mt19937& random) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto word = [&](std::initializer_list<const char*> words) {
    return std::string(words.begin()[pick(static_cast<int>(words.size()))]);
  };
  const auto expression = [&] {
    const std::string op = word({"In", "NotIn", "Exists", "DoesNotExist"});
    Json one{{"key", word({"env", "tier", "zone"})}, {"operator", op}};
    if (op == "In" || op == "NotIn") one["values"] = {word({"prod", "gold", "a"}), word({"dev", "true", "b"})};
    return one;
  };
  const auto selector = [&] {
    Json list = Json::array();
    for (int i = pick(3); i > 0; --i) list.push_back(expression());
    return Json{{"matchExpressions", std::move(list)}};
  };
  Objects objects;
  for (const char* name : {"one", "two"}) put(objects, fleetadm::test::set_object(name));
  put(objects, fleetadm::test::set_object("by-label", {{"selectorType", "LabelSelector"}, {"labelSelector", selector()}}));
  if (pick(2) == 0) put(objects, fleetadm::test::everything_set("global"));
  for (const char* name : {"one", "two", "by-label"}) {
    if (pick(2) == 0) put(objects, fleetadm::test::binding_object("apps", name));
  }
  Json spec = Json::object();
  if (pick(2) == 0) spec["numberOfClusters"] = pick(4);
  if (pick(3) == 0) spec["clusterSets"] = {word({"one", "two", "by-label"})};
  for (int i = pick(3); i > 0; --i) {
    Json rule{{"labelSelector", selector()}};
    if (pick(3) == 0) rule["claimSelector"] = selector();
    spec["predicates"].push_back({{"requiredClusterSelector", std::move(rule)}});
  }
  if (pick(2) == 0)
    spec["tolerations"] = {{{"key", word({"t", "u"})}, {"operator", "Exists"}, {"tolerationSeconds", pick(3) * 100}}};
  put(objects, fleetadm::test::placement_object("apps", "web", std::move(spec)));
  std::vector<std::string> decided;
  for (int i = 0; i < 7; ++i) {
    const std::string name = "c" + std::to_string(i);
    Json labels = Json::object();
    if (pick(4) != 0) labels[kSetOf] = word({"one", "two"});
    for (const char* key : {"env", "tier", "zone"}) {
      if (pick(2) == 0) labels[key] = word({"prod", "gold", "a", "dev"});
    }
    Json taints = Json::array();
    for (int k = pick(3); k > 0; --k) {
      taints.push_back({{"key", word({"t", "u"})},
                        {"value", word({"", "v"})},
                        {"effect", word({"NoSelect", "PreferNoSelect", "NoSelectIfNew"})},
                        {"timeAdded", fleetadm::test::seconds_from_now(-150)}});
    }
    put_cluster(objects, name, std::move(labels), std::move(taints));
    if (pick(3) == 0) decided.push_back(name);
  }
  put(objects, fleetadm::test::decision_object("apps", "web-decision-1", "web", decided));
  put(objects, fleetadm::test::decision_object("other", "x-decision-1", "x", {"c1", "c3"}));
  return objects;
}

TEST(Explain, TheSuggestedChangeAdmitsTheCluster) {
  Tally tally;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    std::mt19937 random(seed);
    check_suggestions(random_fleet(random), kKey, test_now(), "seed " + std::to_string(seed), tally);
  }
  EXPECT_EQ(tally.wrong, 0);
  EXPECT_GT(tally.admitted, 1000);
  EXPECT_GT(tally.alternatives, 20);
  for (const Stage stage : {Stage::kSelected, Stage::kBinding, Stage::kPredicate, Stage::kTaint, Stage::kLimit}) {
    EXPECT_GT(tally.stages[stage], 20) << stage_word(stage);
  }
}

TEST(Explain, TheSuggestedChangeAdmitsTheClusterInRecordedFleets) {
  Tally tally;
  int count = 0;
  const Status read = fleetadm::test::for_each_vector("placement.jsonl.gz", [&](const Json& line) {
    if (++count % 40 != 0) return;  // each takes a pass for every cluster
    Objects objects;
    for (const Json& object : list_at(line, {"objects"})) objects.put(object);
    const std::string key = str(line, {"placement"});
    const std::size_t slash = key.find('/');
    check_suggestions(objects, {key.substr(0, slash), key.substr(slash + 1)}, *parse_time(str(line, {"now"})), str(line, {"id"}),
                      tally);
  });
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(tally.wrong, 0);
  EXPECT_GT(tally.admitted, 100);
}

}  // namespace
}  // namespace fleetadm::placement
