// What upgrade refuses before it changes anything, and what it asks.
#include "commands/fleet/upgrade.h"

#include <gtest/gtest.h>

#include "commands/fleet/fleet.h"
#include "core/api/kinds.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

Json hub_deployment(const std::string& image) {
  return {{"apiVersion", "apps/v1"},
          {"kind", "Deployment"},
          {"metadata",
           {{"name", "fleetadm-hub"}, {"namespace", "open-cluster-management-hub"}, {"labels", {{"fleetadm.io/part", "hub"}}}}},
          {"spec",
           {{"replicas", 1},
            {"template",
             {{"spec", {{"containers", Json::array({{{"name", "hub"}, {"image", image}, {"args", Json::array()}}})}}}}}}}};
}

class UpgradeTest : public ::testing::Test {
 protected:
  UpgradeTest() {
    register_upgrade_hub(registry_);
    register_upgrade_agent(registry_);
  }
  Result<Report> run(const std::string& path, const Flags& flags) {
    return testkit::run_command(registry_, path, context_, flags, {});
  }
  void refused(const std::string& path, const Flags& flags, const std::string& names, Category category = Category::kUsage) {
    const auto report = run(path, flags);
    ASSERT_FALSE(report) << names;
    EXPECT_EQ(report.error().category, category) << report.error().message;
    EXPECT_NE(report.error().message.find(names), std::string::npos) << report.error().message;
    EXPECT_EQ(api_->write_count(), 0);
  }

  std::shared_ptr<testkit::FakeApi> api_ = testkit::FakeApi::make();
  testkit::FakeContext context_{api_->client()};
  Registry registry_;
};

TEST_F(UpgradeTest, FlagsThatDoNotGoTogether) {
  refused("upgrade hub", {{"to", "latest"}}, "is not a version");
  refused("upgrade hub", {{"to", "v1.0.0"}, {"image", "x:v1.0.0"}}, "--image cannot be combined with --to");
  refused("upgrade hub", {{"image", "UPPER"}}, "--image");
  refused("upgrade agent", {{"max-failures", "1"}}, "rollout flags require");
  refused("upgrade agent", {{"clusters", "c1"}, {"placement", "a/b"}}, "conflicting cluster selection");
  refused("upgrade agent", {{"clusters", "c1"}, {"first", "canary"}}, "--first requires --placement");
}

TEST_F(UpgradeTest, WhatIsNotInstalledByFleetadmIsNotTouched) {
  refused("upgrade hub", {}, "no hub on this cluster", Category::kNotFound);
  refused("upgrade agent", {}, "no agent on this cluster", Category::kNotFound);
  Json of_helm = hub_deployment("fleetadm:v0.0.9");
  of_helm["metadata"]["annotations"]["meta.helm.sh/release-name"] = "fleet";
  api_->put(kube::resources::deployments(), of_helm);
  refused("upgrade hub", {}, "installed by Helm, as release \"fleet\"", Category::kConflict);
}

TEST_F(UpgradeTest, ADigestTellsNoVersion) {
  api_->put(kube::resources::deployments(), hub_deployment("r.example/fleetadm@sha256:" + std::string(64, 'a')));
  refused("upgrade hub", {}, "tells no version");
}

TEST_F(UpgradeTest, ARefusalChangesNothing) {
  api_->put(kube::resources::deployments(), hub_deployment("fleetadm:v0.0.9"));
  context_.screen.answer = false;
  refused("upgrade hub", {}, "nothing was changed", Category::kCancelled);
  EXPECT_EQ(context_.screen.asked, (std::vector<std::string>{"Upgrade the hub?"}));
  const auto plan = run("upgrade hub", {{"plan", "true"}});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(str(plan->data, {"kind"}), "UpgradePlan");
  EXPECT_EQ(plan->lines.front(), "hub: v0.0.9 to " FLEETADM_VERSION " (image fleetadm:v0.0.9 to fleetadm:" FLEETADM_VERSION ")");
  EXPECT_EQ(api_->write_count(), 0);
}

TEST_F(UpgradeTest, AgentsAreNotMadeNewerThanTheirHub) {
  api_->put(kube::resources::deployments(), hub_deployment("fleetadm:v0.0.9"));
  api_->put(api::managed_clusters(), {{"metadata", {{"name", "c1"}}}});
  refused("upgrade agent", {{"clusters", "c1"}, {"yes", "true"}}, "older than", Category::kConflict);
}

TEST(UpgradeTargetTest, OwnVersionBringsItsObjects) {
  const auto target = [](const std::string& image, const std::string& to) {
    UpgradeOptions options;
    options.image = image;
    options.to = to;
    return upgrade_target(options, "r.example/fleetadm:v0.0.9").value();
  };
  EXPECT_EQ(target("", "").image, "r.example/fleetadm:" FLEETADM_VERSION);
  EXPECT_TRUE(target("", "").whole);
  EXPECT_EQ(target("", "v0.0.8").image, "r.example/fleetadm:v0.0.8");
  EXPECT_FALSE(target("", "v0.0.8").whole) << "the objects of another version are not known";
  EXPECT_FALSE(target("x/fleetadm:v0.0.8", "").whole);
  EXPECT_TRUE(target("x/fleetadm:" FLEETADM_VERSION, "").whole);
  EXPECT_TRUE(target("x/fleetadm:mine", "").whole) << "no version is told: it is taken for this one";
}

}  // namespace
}  // namespace fleetadm::commands
