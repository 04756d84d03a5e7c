// An add-on of a template is upgraded in each strategy, as its users have it: no cluster outside of the group or the number whose
// turn it is begins, at any instant between two writes.
#include <gtest/gtest.h>

#include "tests/e2e/addon_upgrade_fleet.h"

namespace fleetadm::testkit {
namespace {

using std::chrono::seconds;
using Texts = std::vector<std::string>;

class AddonUpgrade : public AddonUpgradeFleet {
 protected:
  static Json canary_first(Json body = Json::object()) {
    body["mandatoryDecisionGroups"] = Json::array({{{"groupName", "canary"}}});
    return body;
  }
  static Json everywhere(Json strategy) { return Json::array({placed("all-placement", std::move(strategy))}); }
  static std::string told(const std::string& addon, const char* what) {
    return run({"rollout", "status", "addon/" + addon, "--context", "hub", "-o", std::string("jsonpath=") + what}).out;
  }
  using Steps = std::vector<Clusters>;
  /// The order without that inside of a step, which is whichever write comes first.
  static Steps in_steps(const AddonCourse& course, const std::vector<std::size_t>& sizes) {
    Steps steps;
    std::size_t at = 0;
    for (const std::size_t size : sizes) {
      Clusters& step = steps.emplace_back();
      for (const std::size_t end = at + size; at < end && at < course.order.size(); ++at) step.insert(course.order[at]);
    }
    if (at < course.order.size()) steps.emplace_back(course.order.begin() + static_cast<std::ptrdiff_t>(at), course.order.end());
    return steps;
  }
  static bool rolled_out(const std::string& addon, const std::string& wanted, std::size_t count = 6) {
    return through(addon, wanted).size() == count && progress(addon).find("completed with no errors") != std::string::npos;
  }
};

TEST_F(AddonUpgrade, AllBeginAtOnce) {
  ASSERT_NO_FATAL_FAILURE(install("hello-all", everywhere(strategy("All"))));
  ASSERT_NO_FATAL_FAILURE(change("hello-all", declared("hello-all", "2", everywhere(strategy("All")))));
  // No agent answers yet.
  ASSERT_TRUE(eventually([] { return begun("hello-all", "hello-all-2").size() == 6; })) << state("hello-all");
  EXPECT_EQ(through("hello-all", "hello-all-2"), Clusters{});
  EXPECT_TRUE(played_until([] { return rolled_out("hello-all", "hello-all-2"); })) << state("hello-all");
  EXPECT_EQ(told("hello-all", "{.state}"), "Complete");
}

TEST_F(AddonUpgrade, ProgressiveBeginsWithTheCanariesAndWaitsForEachToLast) {
  AddonLimits limits;
  limits.addon = "hello";
  limits.wanted = "hello-1";
  limits.stages = {kCanary, kOrdinary};
  limits.concurrency = 2;
  const auto progressive = [](const char* soak) {
    return everywhere(strategy("Progressive", "progressive", canary_first({{"maxConcurrency", 2}, {"minSuccessTime", soak}})));
  };
  ASSERT_NO_FATAL_FAILURE(install("hello", progressive("0s")));
  const AddonCourse installed = course(limits);
  EXPECT_EQ(installed.breaches, Texts{});
  EXPECT_EQ(installed.order.size(), 6U);

  limits.wanted = "hello-2";
  limits.soak = seconds(2);
  ASSERT_NO_FATAL_FAILURE(change("hello", declared("hello", "2", progressive("2s"))));
  EXPECT_TRUE(played_until([] { return rolled_out("hello", "hello-2"); })) << state("hello");
  const AddonCourse upgraded = course(limits);
  EXPECT_EQ(upgraded.breaches, Texts{});
  EXPECT_EQ(in_steps(upgraded, {2, 2, 2}), (Steps{kCanary, kFirst, kSecond}));
  EXPECT_LE(upgraded.most_at_once, 2U);
  // The record would tell.
  AddonLimits tighter = limits;
  tighter.concurrency = 1;
  EXPECT_NE(course(tighter).breaches, Texts{});
  tighter = limits;
  tighter.soak = seconds(60);
  EXPECT_NE(course(tighter).breaches, Texts{});
  tighter = limits;
  tighter.stages = {kOrdinary, kCanary};
  EXPECT_NE(course(tighter).breaches, Texts{});
}

TEST_F(AddonUpgrade, PerGroupOneGroupFollowsTheOther) {
  const Json per_group = everywhere(strategy("ProgressivePerGroup", "progressivePerGroup", canary_first()));
  AddonLimits limits;
  limits.addon = "hello-groups";
  limits.wanted = "hello-groups-2";
  limits.stages = {kCanary, kFirst, kSecond};
  limits.by_group = true;
  ASSERT_NO_FATAL_FAILURE(install("hello-groups", per_group));
  ASSERT_NO_FATAL_FAILURE(change("hello-groups", declared("hello-groups", "2", per_group)));
  EXPECT_TRUE(played_until([] { return rolled_out("hello-groups", "hello-groups-2"); })) << state("hello-groups");
  const AddonCourse upgraded = course(limits);
  EXPECT_EQ(upgraded.breaches, Texts{});
  EXPECT_EQ(in_steps(upgraded, {2, 2, 2}), (Steps{kCanary, kFirst, kSecond}));
}

TEST_F(AddonUpgrade, AClusterThatTimesOutStopsItUntilSoManyMay) {
  const auto tolerant = [](int failures) {
    return everywhere(strategy("Progressive", "progressive",
                               canary_first({{"maxConcurrency", 1}, {"progressDeadline", "5s"}, {"maxFailures", failures}})));
  };
  AddonLimits limits;
  limits.addon = "hello-late";
  limits.wanted = "hello-late-2";
  limits.stages = {kCanary, kOrdinary};
  limits.deadline = seconds(5);
  ASSERT_NO_FATAL_FAILURE(install("hello-late", everywhere(strategy("All"))));
  broken_ = {"c2"};
  ASSERT_NO_FATAL_FAILURE(change("hello-late", declared("hello-late", "2", tolerant(0))));
  // c2's: on a busy machine c1 may be late, too, before it succeeds.
  ASSERT_TRUE(played_until([] {
    return begun("hello-late", "hello-late-2").contains("c2") && progress("hello-late").find(" 1 timeout.") != std::string::npos;
  })) << state("hello-late");
  EXPECT_EQ(told("hello-late", "{.state}"), "TimedOut");
  const AddonCourse stopped = course(limits);
  EXPECT_EQ(stopped.breaches, Texts{});
  EXPECT_EQ(in_steps(stopped, {2, 1, 1}), (Steps{kCanary, {"c1"}, {"c2"}}));
  EXPECT_EQ(stopped.done, (Clusters{"c1", "c5", "c6"}));

  limits.failures = 1;
  patch("/apis/addon.open-cluster-management.io/v1alpha1/clustermanagementaddons/hello-late",
        {{"spec", {{"installStrategy", {{"type", "Placements"}, {"placements", tolerant(1)}}}}}});
  ASSERT_TRUE(played_until([] { return through("hello-late", "hello-late-2").size() == 5; })) << state("hello-late");
  const AddonCourse tolerated = course(limits);
  EXPECT_EQ(tolerated.breaches, Texts{});
  EXPECT_EQ(in_steps(tolerated, {2, 1, 1, 1, 1}), (Steps{kCanary, {"c1"}, {"c2"}, {"c3"}, {"c4"}}));
  EXPECT_EQ(told("hello-late", "{.state}"), "Partial");

  broken_.clear();
  EXPECT_TRUE(played_until([] { return rolled_out("hello-late", "hello-late-2"); })) << state("hello-late");
}

TEST_F(AddonUpgrade, PerGroupATimeOutWithinWhatIsToleratedHoldsNoGroup) {
  const Json tolerant = everywhere(
      strategy("ProgressivePerGroup", "progressivePerGroup", canary_first({{"progressDeadline", "5s"}, {"maxFailures", 1}})));
  AddonLimits limits;
  limits.addon = "hello-tolerant";
  limits.wanted = "hello-tolerant-2";
  limits.stages = {kCanary, kFirst, kSecond};
  limits.by_group = true;
  limits.deadline = seconds(5);
  limits.failures = 1;
  ASSERT_NO_FATAL_FAILURE(install("hello-tolerant", everywhere(strategy("All"))));
  broken_ = {"c1"};
  ASSERT_NO_FATAL_FAILURE(change("hello-tolerant", declared("hello-tolerant", "2", tolerant)));
  EXPECT_TRUE(played_until([] { return through("hello-tolerant", "hello-tolerant-2").size() == 5; })) << state("hello-tolerant");
  const AddonCourse upgraded = course(limits);
  EXPECT_EQ(upgraded.breaches, Texts{});
  EXPECT_EQ(in_steps(upgraded, {2, 2, 2}), (Steps{kCanary, kFirst, kSecond}));
  EXPECT_EQ(upgraded.done, (Clusters{"c2", "c3", "c4", "c5", "c6"}));
}

/// One add-on on two clouds, each with a configuration of its own: a configuration that is edited in place rolls out on its cloud
/// by the strategy, and nothing is written on the other.
TEST_F(AddonUpgrade, OnTwoCloudsEachHasItsOwnConfiguration) {
  const std::string configs = "/apis/addon.open-cluster-management.io/v1alpha1/namespaces/default/addondeploymentconfigs";
  Json placements = Json::array();
  for (const std::string cloud : {"aws", "gcp"}) {
    const std::string config = "hello-deploy-config-" + cloud;
    must_create(configs, {{"apiVersion", "addon.open-cluster-management.io/v1alpha1"},
                          {"kind", "AddOnDeploymentConfig"},
                          {"metadata", {{"name", config}, {"namespace", "default"}}},
                          {"spec", {{"customizedVariables", Json::array({{{"name", "CLOUD"}, {"value", cloud}}})}}}});
    const Json reference{{"group", "addon.open-cluster-management.io"},
                         {"resource", "addondeploymentconfigs"},
                         {"namespace", "default"},
                         {"name", config}};
    placements.push_back(placed(cloud + "-placement", strategy("ProgressivePerGroup", "progressivePerGroup", canary_first()),
                                Json::array({reference})));
  }
  ASSERT_NO_FATAL_FAILURE(install("hello-clouds", placements));
  const auto argument = [](const std::string& cluster) {
    const Json work = hub().get("/apis/work.open-cluster-management.io/v1/namespaces/" + cluster +
                                "/manifestworks/addon-hello-clouds-deploy-0");
    for (const Json& manifest : list_at(work, {"spec", "workload", "manifests"})) {
      if (str(manifest, {"kind"}) != "Deployment") continue;
      return string_list_at(list_at(manifest, {"spec", "template", "spec", "containers"})[0], {"args"}).back();
    }
    return std::string();
  };
  for (const char* cluster : {"c1", "c2", "c3", "c4", "c5", "c6"}) {
    EXPECT_EQ(argument(cluster), kOdd.contains(cluster) ? "--cloud=aws" : "--cloud=gcp") << cluster;
  }

  const auto hash = [] {
    const Json now = declaration("hello-clouds");
    for (const Json& progression : list_at(now, {"status", "installProgressions"})) {
      if (str(progression, {"name"}) != "gcp-placement") continue;
      for (const Json& reference : list_at(progression, {"configReferences"})) {
        if (str(reference, {"resource"}) == "addondeploymentconfigs") return str(reference, {"desiredConfig", "specHash"});
      }
    }
    return std::string();
  };
  const std::string before = hash();
  since_ = hub().audit_position();
  patch(configs + "/hello-deploy-config-gcp",
        {{"spec", {{"customizedVariables", Json::array({{{"name", "CLOUD"}, {"value", "gcp-2"}}})}}}});
  ASSERT_TRUE(eventually([&] { return hash() != before; })) << state("hello-clouds");
  AddonLimits limits;
  limits.addon = "hello-clouds";
  limits.wanted = hash();
  limits.stages = {{"c6"}, {"c2", "c4"}};
  limits.by_group = true;
  EXPECT_TRUE(played_until([&] {
    return through("hello-clouds", limits.wanted).size() == 3 &&
           progress("hello-clouds", 1).find("completed with no errors") != std::string::npos;
  })) << state("hello-clouds");
  const AddonCourse edited = course(limits);
  EXPECT_EQ(edited.breaches, Texts{});
  EXPECT_EQ(in_steps(edited, {1, 2}), (Steps{{"c6"}, {"c2", "c4"}}));
  for (const char* cluster : {"c2", "c4", "c6"}) EXPECT_EQ(argument(cluster), "--cloud=gcp-2") << cluster;
  for (const AuditEntry& entry : hub().audit_since(since_)) {
    const bool of_addons = entry.resource == "managedclusteraddons" || entry.resource == "manifestworks";
    EXPECT_FALSE(of_addons && entry.is_write() && kOdd.contains(entry.ns)) << entry.verb << " " << entry.uri;
  }
}

}  // namespace
}  // namespace fleetadm::testkit
