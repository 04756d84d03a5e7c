#include "commands/placement/spec.h"

#include <gtest/gtest.h>

#include "commands/framework/selectors.h"
#include "commands/framework/write_report.h"

namespace fleetadm::commands {
namespace {

std::string text(const Result<Json>& result) { return result ? dump_json(*result) : "error: " + result.error().message; }

TEST(PlacementSpec, Selectors) {
  EXPECT_EQ(
      text(parse_selector("env=prod,tier in (gold,silver),!legacy,gpu,zone!=a")),
      R"({"matchExpressions":[{"key":"tier","operator":"In","values":["gold","silver"]},{"key":"legacy","operator":"DoesNotExist"},)"
      R"({"key":"gpu","operator":"Exists"},{"key":"zone","operator":"NotIn","values":["a"]}],"matchLabels":{"env":"prod"}})");
  EXPECT_EQ(text(parse_selector("a==b")), R"({"matchLabels":{"a":"b"}})");
  EXPECT_EQ(text(parse_selector("a=b,a=c")),
            R"({"matchExpressions":[{"key":"a","operator":"In","values":["c"]}],"matchLabels":{"a":"b"}})");
  EXPECT_EQ(text(parse_selector("a notin (x)")), R"({"matchExpressions":[{"key":"a","operator":"NotIn","values":["x"]}]})");
  EXPECT_EQ(text(parse_selector("")), R"(error: --selector "": no term)");
  EXPECT_TRUE(text(parse_selector("bad key=x")).starts_with(R"(error: --selector "bad key=x": key: Invalid value: "bad key")"));
  EXPECT_TRUE(text(parse_selector("a in ()")).starts_with("error: "));
  EXPECT_EQ(text(parse_selector("a in (,b)")), R"({"matchExpressions":[{"key":"a","operator":"In","values":["","b"]}]})");
  EXPECT_EQ(text(parse_selector("a!=")), R"({"matchExpressions":[{"key":"a","operator":"NotIn","values":[""]}]})");
}

TEST(PlacementSpec, Tolerations) {
  EXPECT_EQ(text(parse_toleration("gpu")), R"({"key":"gpu","operator":"Exists"})");
  EXPECT_EQ(text(parse_toleration("gpu=a100:NoSelect")),
            R"({"effect":"NoSelect","key":"gpu","operator":"Equal","value":"a100"})");
  EXPECT_EQ(text(parse_toleration("example.com/x::10m")),
            R"({"key":"example.com/x","operator":"Exists","tolerationSeconds":600})");
  EXPECT_EQ(text(parse_toleration("*:NoSelectIfNew:30")),
            R"({"effect":"NoSelectIfNew","operator":"Exists","tolerationSeconds":30})");
  for (const char* bad : {"", ":NoSelect", "a:Sometimes", "a::soon", "a::-1", "a:NoSelect:1:2", "bad key"}) {
    EXPECT_TRUE(text(parse_toleration(bad)).starts_with("error: --toleration")) << bad;
  }
}

TEST(PlacementSpec, Prioritizers) {
  EXPECT_EQ(text(parse_prioritizer("Steady=3")), R"({"scoreCoordinate":{"builtIn":"Steady","type":"BuiltIn"},"weight":3})");
  EXPECT_EQ(text(parse_prioritizer("Balance")), R"({"scoreCoordinate":{"builtIn":"Balance","type":"BuiltIn"},"weight":1})");
  EXPECT_EQ(text(parse_prioritizer("AddOn/usage/cpu=-2")),
            R"({"scoreCoordinate":{"addOn":{"resourceName":"usage","scoreName":"cpu"},"type":"AddOn"},"weight":-2})");
  for (const char* bad : {"", "Unheard=1", "Steady=11", "Steady=", "AddOn/x=1", "AddOn//x=1", "AddOn/a/b/c=1"}) {
    EXPECT_TRUE(text(parse_prioritizer(bad)).starts_with("error: --prioritizer")) << bad;
  }
}

TEST(PlacementSpec, RequiredApisAreOfEachAlternative) {
  SpecFlags flags;
  flags.apis = {"apps/v1/Deployment", "v1/Pod"};
  const Json expressions{R"x(managedCluster.scores("served-apis").exists(s, s.name == "apps/v1/Deployment"))x",
                         R"x(managedCluster.scores("served-apis").exists(s, s.name == "v1/Pod"))x"};
  const auto in = [](const Json& predicate) {
    return list_at(predicate, {"requiredClusterSelector", "celSelector", "celExpressions"});
  };
  const Json alone = *spec_of(flags);
  ASSERT_EQ(list_at(alone, {"predicates"}).size(), 1U);
  EXPECT_EQ(in(alone["predicates"][0]), expressions);
  flags.label_selectors = {"a=b", "c=d"};
  const Json both = *spec_of(flags);
  ASSERT_EQ(list_at(both, {"predicates"}).size(), 2U);
  for (const Json& one : both["predicates"]) EXPECT_EQ(in(one), expressions);
  for (const char* bad :
       {"", "Pod", "/Pod", "apps/v1/", "apps/v1/deployments", "a/b/c/D", "apps/v1/De\"ployment", "Apps/v1/X", "v1/Pod\n"}) {
    flags.apis = {bad};
    EXPECT_TRUE(text(spec_of(flags)).starts_with("error: --requires-api")) << bad;
  }
}

TEST(PlacementSpec, FlagsTogether) {
  SpecFlags flags;
  flags.cluster_sets = {"prod"};
  flags.count = 2;
  flags.label_selectors = {"env=prod", "env=dev"};
  flags.claims = {"region=eu"};
  flags.tolerations = {"gpu"};
  flags.prioritizers = {"ResourceAllocatableMemory=2"};
  flags.exact = true;
  flags.group_size = "25%";
  flags.groups = {"canary:tier=canary"};
  const auto spec = spec_of(flags);
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(
      dump_json(*spec),
      R"({"clusterSets":["prod"],"decisionStrategy":{"groupStrategy":{"clustersPerDecisionGroup":"25%","decisionGroups":[)"
      R"({"groupClusterSelector":{"labelSelector":{"matchLabels":{"tier":"canary"}}},"groupName":"canary"}]}},"numberOfClusters":2,)"
      R"("predicates":[{"requiredClusterSelector":{"claimSelector":{"matchExpressions":[{"key":"region","operator":"In","values":["eu"]}]},)"
      R"("labelSelector":{"matchLabels":{"env":"prod"}}}},{"requiredClusterSelector":{"claimSelector":{"matchExpressions":[)"
      R"({"key":"region","operator":"In","values":["eu"]}]},"labelSelector":{"matchLabels":{"env":"dev"}}}}],)"
      R"("prioritizerPolicy":{"configurations":[{"scoreCoordinate":{"builtIn":"ResourceAllocatableMemory","type":"BuiltIn"},"weight":2}],)"
      R"("mode":"Exact"},"tolerations":[{"key":"gpu","operator":"Exists"}]})");
  EXPECT_EQ(text(spec_of(SpecFlags{})), "{}");
  for (const char* bad : {"0", "101%", "0%", "x", "-3"}) {
    SpecFlags one;
    one.group_size = bad;
    EXPECT_FALSE(spec_of(one).has_value()) << bad;
  }
}

TEST(PlacementSpec, Files) {
  EXPECT_EQ(text(spec_of_text("kind: Placement\napiVersion: x/v1\nspec:\n  numberOfClusters: 2\n")), R"({"numberOfClusters":2})");
  EXPECT_EQ(text(spec_of_text("numberOfClusters: 2")), R"({"numberOfClusters":2})");
  EXPECT_EQ(text(spec_of_text("kind: ManifestWork\napiVersion: x/v1\n")),
            "error: the file holds a ManifestWork, not a Placement");
  EXPECT_TRUE(text(spec_of_text("a: [")).starts_with("error: the spec cannot be read"));
  EXPECT_TRUE(text(spec_of_text("just text")).starts_with("error: "));
}

TEST(ReadBack, HoldsWhatWasAsked) {
  const auto holds_text = [](const char* stored, const char* asked) { return holds(*parse_json(stored), *parse_json(asked)); };
  EXPECT_TRUE(holds_text(R"({"a":1,"b":{"c":"x","default":true}})", R"({"b":{"c":"x"}})"));
  EXPECT_TRUE(holds_text("{}", R"({"a":{},"b":null,"c":[]})")) << "servers leave empty members out";
  EXPECT_TRUE(holds_text(R"({"a":[{"x":1,"default":"y"}]})", R"({"a":[{"x":1}]})")) << "the server fills elements in";
  EXPECT_FALSE(holds_text(R"({"a":[1]})", R"({"a":[1,2]})"));
  EXPECT_FALSE(holds_text("{}", R"({"a":1})"));
}

}  // namespace
}  // namespace fleetadm::commands
