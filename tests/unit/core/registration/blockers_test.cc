// What a departure waits for, in order, and whose it is.
#include "core/registration/join/blockers.h"

#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "core/registration/join/unjoin.h"
#include "tests/support/fake_api.h"

namespace fleetadm::join {
namespace {

class BlockersTest : public testing::Test {
 protected:
  void put(const kube::Resource& type, const std::string& name, const std::string& ns, const Json& metadata = Json::object()) {
    Json object{{"metadata", metadata}};
    object["metadata"]["name"] = name;
    if (!ns.empty()) object["metadata"]["namespace"] = ns;
    api_->put(type, object);
  }
  static Json held_by(const std::vector<std::string>& finalizers) { return {{"finalizers", finalizers}}; }
  std::vector<std::string> texts() {
    const auto blockers = hub_blockers(api_->client(), "c1");
    EXPECT_TRUE(blockers.has_value());
    std::vector<std::string> out;
    for (const Blocker& one : *blockers) out.push_back(one.text());
    return out;
  }
  DepartureOptions options(bool force) {
    DepartureOptions options;
    options.cluster_name = "c1";
    options.force = force;
    options.timeout = std::chrono::milliseconds(50);
    options.told = [this](std::string_view what) { told_.emplace_back(what); };
    return options;
  }

  std::shared_ptr<testkit::FakeApi> api_ = testkit::FakeApi::make();
  std::vector<std::string> told_;
};

constexpr const char* kAgents = "cluster.open-cluster-management.io/manifest-work-cleanup";

TEST_F(BlockersTest, AddonsComeBeforeWorksAndBothBeforeTheCluster) {
  put(api::managed_clusters(), "c1", "", held_by({"cluster.open-cluster-management.io/resource-cleanup", "example.com/backup"}));
  Json of_set = held_by({kAgents});
  of_set["labels"]["work.open-cluster-management.io/manifestworkreplicaset"] = "apps.web";
  put(api::manifest_works(), "web", "c1", of_set);
  Json later = held_by({kAgents, "example.com/audit"});
  later["annotations"]["open-cluster-management.io/cleanup-priority"] = "50";
  put(api::manifest_works(), "agent-of-hooks", "c1", later);
  put(api::managed_cluster_addons(), "hello", "c1", held_by({"addon.open-cluster-management.io/addon-pre-delete"}));
  put(api::managed_cluster_addons(), "plain", "c1");
  put(api::manifest_works(), "others", "c2", held_by({kAgents}));
  EXPECT_EQ(texts(),
            (std::vector<std::string>{
                "ManagedClusterAddOn c1/hello of add-on hello waits for its pre-delete hooks on c1 (finalizer "
                "addon.open-cluster-management.io/addon-pre-delete)",
                "ManagedClusterAddOn c1/plain of add-on plain goes at once",
                "ManifestWork c1/web of ManifestWorkReplicaSet apps/web waits for the agent of c1 (finalizer "
                "cluster.open-cluster-management.io/manifest-work-cleanup)",
                "ManifestWork c1/agent-of-hooks waits for the agent of c1, then whoever set example.com/audit (finalizers "
                "cluster.open-cluster-management.io/manifest-work-cleanup, example.com/audit)",
                "ManagedCluster c1 waits for the hub controllers, then whoever set example.com/backup (finalizers "
                "cluster.open-cluster-management.io/resource-cleanup, example.com/backup)",
            }));
  EXPECT_TRUE(api_->writes().empty());
}

TEST_F(BlockersTest, WhatCannotBeListedIsNotAbsent) {
  api_->fail_next("list", "managedclusteraddons", 403, "Forbidden");
  EXPECT_FALSE(hub_blockers(api_->client(), "c1").has_value());
}

TEST_F(BlockersTest, ManyAreShortened) {
  for (const char* name : {"a", "b", "c", "d", "e"}) put(api::manifest_works(), name, "c1");
  const std::string text = first_blockers(*hub_blockers(api_->client(), "c1"));
  EXPECT_NE(text.find("c1/c goes at once and 2 more"), std::string::npos) << text;
}

TEST_F(BlockersTest, ADepartureThatDoesNotEndNamesWhatBlocks) {
  put(api::managed_clusters(), "c1", "", held_by({"cluster.open-cluster-management.io/resource-cleanup"}));
  put(api::manifest_works(), "web", "c1", held_by({kAgents}));
  const auto left = leave_on_hub(api_->client(), options(false));
  ASSERT_FALSE(left.has_value());
  EXPECT_EQ(left.error().category, Category::kTimeout);
  EXPECT_NE(left.error().message.find("ManifestWork c1/web waits for the agent of c1"), std::string::npos)
      << left.error().message;
  EXPECT_NE(left.error().hint.find("--force"), std::string::npos) << left.error().hint;
}

TEST_F(BlockersTest, AHeldClusterWaitsForTheEndOfItsDeparture) {
  put(api::managed_clusters(), "c1", "", held_by({"cluster.open-cluster-management.io/resource-cleanup", "fleetadm.io/leaving"}));
  const auto left = take_works_back(api_->client(), options(false));
  ASSERT_FALSE(left.has_value());
  EXPECT_NE(left.error().message.find("waits for the hub controllers, then the end of fleetadm unjoin"), std::string::npos)
      << left.error().message;
}

TEST_F(BlockersTest, ForceGivesUpWorksAndAddonsButNobodyElsesFinalizer) {
  put(api::managed_clusters(), "c1", "", held_by({"example.com/backup"}));
  put(api::manifest_works(), "web", "c1", held_by({kAgents}));
  put(api::managed_cluster_addons(), "hello", "c1", held_by({"addon.open-cluster-management.io/addon-pre-delete"}));
  put(api::manifest_works(), "others", "c2", held_by({kAgents}));
  EXPECT_EQ(left_behind(api_->client(), "c1")->works, std::vector<std::string>{"web"});
  EXPECT_EQ(left_behind(api_->client(), "c1")->addons, std::vector<std::string>{"hello"});
  const auto left = leave_on_hub(api_->client(), options(true));
  ASSERT_FALSE(left.has_value());
  EXPECT_NE(left.error().message.find("whoever set example.com/backup"), std::string::npos) << left.error().message;
  EXPECT_TRUE(api_->all(api::managed_cluster_addons()).empty());
  ASSERT_EQ(api_->all(api::manifest_works()).size(), 1U);
  EXPECT_EQ(name_of(api_->all(api::manifest_works()).front()), "others") << "another cluster's";
}

TEST_F(BlockersTest, OnTheClusterTheWorksBlock) {
  api_->put(
      api::applied_manifest_works(),
      {{"metadata", {{"name", "hash-web"}, {"finalizers", {"cluster.open-cluster-management.io/applied-manifest-work-cleanup"}}}},
       {"spec", {{"manifestWorkName", "web"}}}});
  const auto blockers = spoke_blockers(api_->client());
  ASSERT_EQ(blockers->size(), 1U);
  EXPECT_EQ(blockers->front().owner, "work web");
  EXPECT_EQ(str(to_json(*blockers)[0], {"kind"}), "AppliedManifestWork");
}

}  // namespace
}  // namespace fleetadm::join
