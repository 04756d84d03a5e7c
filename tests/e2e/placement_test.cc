// Scheduling scenarios (docs/reference/placement.md) on a real API server with `hub run` as a process: a row each, in a namespace
// and a cluster set of its own.
#include <gtest/gtest.h>

#include "tests/support/fleet.h"
#include "tests/support/placement_lab.h"

namespace fleetadm::testkit {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);
constexpr auto kQuiet = std::chrono::milliseconds(300);

/// What a row changes after its first outcome: a merge patch of one object, and the outcome after it.
struct Then {
  const char* kind;
  const char* name;  // of a cluster or the placement
  const char* change;
  const char* clusters;
  const char* reason;
};

struct Row {
  const char* id;
  const char* clusters;  // JSON: name → {"labels", "taints", "claims", "resources"}; in the row's set
  const char* spec;
  const char* selected;  // decision objects in order, JSON: [["a","b"],["c"]]
  const char* reason;    // of PlacementSatisfied
  std::vector<Then> then = {};
  bool bound = true;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all{
      {"P1 no binding", R"({"a":{}})", "{}", R"([[]])", "NoManagedClusterSetBindings", {}, false},
      {"P3 no intersection", R"({"a":{}})", R"({"clusterSets":["elsewhere"]})", R"([[]])", "NoIntersection"},
      {"P4 an empty set", "{}", "{}", R"([[]])", "AllManagedClusterSetsEmpty"},
      {"P10 none wanted", R"({"a":{},"b":{}})", R"({"numberOfClusters":0})", R"([[]])", "NoManagedClusterMatched"},
      {"P11 too few", R"({"a":{}})", R"({"numberOfClusters":3})", R"([["a"]])", "NotAllDecisionsScheduled"},
      {"P12 a negative number", R"({"a":{}})", R"({"numberOfClusters":-1})", R"([[]])", "NoManagedClusterMatched"},
      {"labels, and a label that changes",
       R"({"a":{"labels":{"env":"prod"}},"b":{"labels":{"env":"dev"}},"c":{"labels":{"env":"prod"}}})",
       R"({"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchLabels":{"env":"prod"}}}}]})",
       R"([["a","c"]])",
       "AllDecisionsScheduled",
       {{"ManagedCluster", "b", R"({"metadata":{"labels":{"env":"prod"}}})", R"([["a","b","c"]])", "AllDecisionsScheduled"},
        {"ManagedCluster", "a", R"({"metadata":{"labels":{"env":null}}})", R"([["b","c"]])", "AllDecisionsScheduled"}}},
      {"P13 claims and labels",
       R"({"a":{"labels":{"env":"prod"},"claims":{"region":"eu"}},"b":{"labels":{"env":"dev"}},"c":{"labels":{"env":"prod"}}})",
       R"({"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchLabels":{"env":"prod"}},
           "claimSelector":{"matchExpressions":[{"key":"region","operator":"In","values":["eu"]}]}}},
           {"requiredClusterSelector":{"labelSelector":{"matchLabels":{"env":"dev"}}}}]})",
       R"([["a","b"]])", "AllDecisionsScheduled"},
      {"P16 an unknown operator, then mended",
       R"({"a":{}})",
       R"({"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchExpressions":[{"key":"k","operator":"Gt","values":["1"]}]}}}]})",
       R"([[]])",
       "NoManagedClusterMatched",
       {{"Placement", "p", R"({"spec":{"predicates":null}})", R"([["a"]])", "AllDecisionsScheduled"}}},
      {"P28, P29 taints, also of decided clusters",
       R"({"a":{},"b":{},"c":{}})",
       "{}",
       R"([["a","b","c"]])",
       "AllDecisionsScheduled",
       {{"ManagedCluster", "a", R"({"spec":{"taints":[{"key":"k","effect":"NoSelect"}]}})", R"([["b","c"]])",
         "AllDecisionsScheduled"},
        {"ManagedCluster", "b", R"({"spec":{"taints":[{"key":"k","effect":"NoSelectIfNew"}]}})", R"([["b","c"]])",
         "AllDecisionsScheduled"},
        {"ManagedCluster", "c", R"({"spec":{"taints":[{"key":"k","effect":"PreferNoSelect"}]}})", R"([["b","c"]])",
         "AllDecisionsScheduled"},
        {"Placement", "p", R"({"spec":{"tolerations":[{"key":"k","operator":"Exists"}]}})", R"([["a","b","c"]])",
         "AllDecisionsScheduled"}}},
      {"P37 a wrong toleration", R"({"a":{}})", R"({"tolerations":[{"operator":"Equal"}]})", R"([[]])",
       "NoManagedClusterMatched"},
      {"P45 resources",
       R"({"r1":{"resources":{"cpu":"4","memory":"16Gi"}},"r2":{"resources":{"cpu":"6500m","memory":"12Gi"}},
           "r3":{"resources":{"cpu":"11500m","memory":"48G"}},"r4":{}})",
       R"({"numberOfClusters":2,"prioritizerPolicy":{"mode":"Exact","configurations":[
           {"scoreCoordinate":{"builtIn":"ResourceAllocatableCPU"},"weight":1},
           {"scoreCoordinate":{"builtIn":"ResourceAllocatableMemory"},"weight":1}]}})",
       R"([["r3","r4"]])", "AllDecisionsScheduled"},
      {"P53 an unknown prioritizer", R"({"a":{}})",
       R"({"prioritizerPolicy":{"configurations":[{"scoreCoordinate":{"builtIn":"Unheard"},"weight":1}]}})", R"([[]])",
       "NoManagedClusterMatched"},
      {"P54 an unknown mode", R"({"a":{}})", R"({"prioritizerPolicy":{"mode":"Fancy"}})", R"([[]])", "NoManagedClusterMatched"},
      {"P58 groups of 30 %", R"({"w1":{},"w2":{},"w3":{},"w4":{},"w5":{},"w6":{},"w7":{}})",
       R"({"decisionStrategy":{"groupStrategy":{"clustersPerDecisionGroup":"30%"}}})",
       R"([["w1","w2","w3"],["w4","w5","w6"],["w7"]])", "AllDecisionsScheduled"},
      {"P60 a size that is no percentage", R"({"a":{}})",
       R"({"decisionStrategy":{"groupStrategy":{"clustersPerDecisionGroup":"3"}}})", "[]", "AllDecisionsScheduled"},
      {"P63, P64 named groups",
       R"({"w1":{},"w2":{"labels":{"tier":"canary"}},"w3":{},"w4":{"labels":{"tier":"canary","zone":"z"}},
           "w5":{"labels":{"zone":"z"}},"w6":{"labels":{"tier":"canary","zone":"z"}}})",
       R"({"decisionStrategy":{"groupStrategy":{"clustersPerDecisionGroup":2,"decisionGroups":[
           {"groupName":"canary","groupClusterSelector":{"labelSelector":{"matchLabels":{"tier":"canary"}}}},
           {"groupName":"zone","groupClusterSelector":{"labelSelector":{"matchLabels":{"zone":"z"}}}}]}}})",
       R"([["w2","w4"],["w6"],["w5"],["w1","w3"]])",
       "AllDecisionsScheduled",
       {{"Placement", "p",
         R"({"spec":{"decisionStrategy":{"groupStrategy":{"clustersPerDecisionGroup":4,"decisionGroups":null}}}})",
         R"([["w1","w2","w3","w4"],["w5","w6"]])", "AllDecisionsScheduled"}}}};
  return all;
}

class PlacementOnAServer : public ::testing::TestWithParam<std::size_t> {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    auto started = PlacementLab::start();
    ASSERT_TRUE(started) << started.error().message;
    lab() = std::move(*started);
    ASSERT_TRUE(lab()->run(PlacementLab::Scheduler::kOurHub));
  }
  static void TearDownTestSuite() { lab().reset(); }
  void SetUp() override {
    FLEETADM_NEEDS_KUBE_SERVERS();
    ASSERT_NE(lab(), nullptr);
  }
  static std::unique_ptr<PlacementLab>& lab() {
    static std::unique_ptr<PlacementLab> the_lab;
    return the_lab;
  }

  static Json parsed(std::string_view text) {
    auto value = parse_json(text);
    if (!value) ADD_FAILURE() << value.error().message << " in " << text;
    return value ? std::move(*value) : Json();
  }

  // A cluster as an accepted and available one; names are made the row's own by a prefix.
  static Json cluster(const std::string& prefix, const std::string& set, const std::string& name, const Json& about) {
    Json labels = object_at(about, {"labels"});
    labels["cluster.open-cluster-management.io/clusterset"] = set;
    Json claims = Json::array();
    for (const auto& [claim, value] : strings_at(about, {"claims"})) claims.push_back({{"name", claim}, {"value", value}});
    return {{"kind", "ManagedCluster"},
            {"metadata", {{"name", prefix + name}, {"labels", std::move(labels)}}},
            {"spec", {{"hubAcceptsClient", true}, {"leaseDurationSeconds", 3600}}},
            {"status",
             {{"clusterClaims", std::move(claims)},
              {"capacity", object_at(about, {"resources"})},
              {"allocatable", object_at(about, {"resources"})},
              {"conditions",
               {{{"type", "ManagedClusterConditionAvailable"},
                 {"status", "True"},
                 {"reason", "Test"},
                 {"message", ""},
                 {"lastTransitionTime", "2026-01-01T00:00:00Z"}}}}}}};
  }

  struct Outcome {
    std::string clusters;
    std::string reason;
    bool operator==(const Outcome&) const = default;
  };
  static Outcome outcome(const std::string& ns, const std::string& prefix) {
    Outcome out;
    const auto now = lab()->outcome(ns, "p");
    if (!now) return {now.error().message, {}};
    Json decisions = Json::array();
    for (const Json& one : list_at(*now, {"decisions"})) {
      Json names = Json::array();
      for (const std::string& name : string_list_at(one, {"clusters"})) names.push_back(name.substr(prefix.size()));
      decisions.push_back(std::move(names));
    }
    out.clusters = dump_json(decisions);
    for (const Json& one : list_at(*now, {"status", "conditions"})) {
      if (str(one, {"type"}) == "PlacementSatisfied") out.reason = str(one, {"reason"});
    }
    return out;
  }
  static void expect_becomes(const std::string& ns, const std::string& prefix, const char* clusters, const char* reason,
                             const std::string& when) {
    const Outcome wanted{dump_json(parsed(clusters)), reason};
    eventually([&] { return outcome(ns, prefix) == wanted; }, kPatience, std::chrono::milliseconds(30));
    std::this_thread::sleep_for(kQuiet);
    const Outcome now = outcome(ns, prefix);
    EXPECT_EQ(now.clusters, wanted.clusters) << when << "\n" << lab()->log();
    EXPECT_EQ(now.reason, wanted.reason) << when;
  }
};

TEST_P(PlacementOnAServer, Scenario) {
  const Row& row = rows().at(GetParam());
  const std::string prefix = "row" + std::to_string(GetParam()) + "-";
  const std::string ns = prefix + "team";
  const std::string set = prefix + "set";
  const auto put = [&](Json object) {
    const Status done = lab()->put(std::move(object));
    ASSERT_TRUE(done) << row.id << ": " << done.error().message;
  };
  put({{"kind", "ManagedClusterSet"}, {"metadata", {{"name", set}}}, {"spec", Json::object()}});
  const Json clusters = parsed(row.clusters);
  for (const auto& [name, about] : clusters.items()) put(cluster(prefix, set, name, about));
  if (row.bound) {
    put({{"kind", "ManagedClusterSetBinding"},
         {"metadata", {{"name", set}, {"namespace", ns}}},
         {"spec", {{"clusterSet", set}}}});
  }
  put({{"kind", "Placement"}, {"metadata", {{"name", "p"}, {"namespace", ns}}}, {"spec", parsed(row.spec)}});
  expect_becomes(ns, prefix, row.selected, row.reason, row.id);
  for (const Then& then : row.then) {
    const bool placement = std::string_view(then.kind) == "Placement";
    const Status changed =
        lab()->change(then.kind, placement ? ns : "", placement ? then.name : prefix + then.name, parsed(then.change));
    ASSERT_TRUE(changed) << row.id << ": " << changed.error().message;
    expect_becomes(ns, prefix, then.clusters, then.reason, std::string(row.id) + " after " + then.change);
  }
}

INSTANTIATE_TEST_SUITE_P(EdgeCases, PlacementOnAServer, ::testing::Range<std::size_t>(0, rows().size()));

}  // namespace
}  // namespace fleetadm::testkit
