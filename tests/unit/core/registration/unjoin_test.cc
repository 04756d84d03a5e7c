// Leaving a fleet: what is deleted on the hub and what stays, and that a dry run tells the same.
#include "core/registration/join/unjoin.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "core/registration/hub/rbac.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/fake_api.h"

namespace fleetadm::join {
namespace {

namespace r = kube::resources;

class DepartureTest : public ::testing::Test {
 protected:
  static Json object(const kube::Resource& type, const std::string& name, const std::string& ns = {}) {
    Json out{{"apiVersion", type.api_version()}, {"kind", type.kind}, {"metadata", {{"name", name}}}};
    if (!ns.empty()) out["metadata"]["namespace"] = ns;
    return out;
  }
  void cluster_namespace(const std::string& name, bool made_by_hub) {
    Json ns = registration::hub::cluster_namespace(name);
    if (!made_by_hub) erase_at(ns, {"metadata", "annotations"});
    api_->put(r::namespaces(), ns);
  }
  kube::Client client(kube::DryRun dry_run = kube::DryRun::kNone) {
    auto gate = std::make_shared<kube::WriteGate>();
    gate->dry_run = dry_run;
    return api_->client(gate);
  }
  static bool told(const std::vector<install::Change>& changes, const std::string& kind, install::Action action) {
    return std::any_of(changes.begin(), changes.end(),
                       [&](const install::Change& change) { return change.kind == kind && change.action == action; });
  }

  std::shared_ptr<testkit::FakeApi> api_ = testkit::FakeApi::make();
  DepartureOptions options_ = [] {
    DepartureOptions options;
    options.cluster_name = "c1";
    options.timeout = std::chrono::seconds(5);
    return options;
  }();
};

TEST_F(DepartureTest, TheNamespaceThatTheHubMadeGoesWithTheCluster) {
  api_->put(api::managed_clusters(), object(api::managed_clusters(), "c1"));
  cluster_namespace("c1", true);
  cluster_namespace("c10", true);
  const auto changes = leave_on_hub(client(), options_);
  ASSERT_TRUE(changes) << changes.error().message;
  EXPECT_FALSE(api_->get(api::managed_clusters(), "", "c1"));
  EXPECT_FALSE(api_->get(r::namespaces(), "", "c1"));
  EXPECT_TRUE(api_->get(r::namespaces(), "", "c10")) << "another cluster's";
  const int writes = api_->write_count();
  const auto again = leave_on_hub(client(), options_);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->empty());
  EXPECT_EQ(api_->write_count(), writes);
}

// A cluster that was given the name of somebody's namespace does not take that namespace with it.
TEST_F(DepartureTest, ANamespaceThatWasThereBeforeStays) {
  api_->put(api::managed_clusters(), object(api::managed_clusters(), "c1"));
  cluster_namespace("c1", false);
  const auto changes = leave_on_hub(client(), options_);
  ASSERT_TRUE(changes) << changes.error().message;
  EXPECT_TRUE(told(*changes, "Namespace", install::Action::kConfigured));
  const auto ns = api_->get(r::namespaces(), "", "c1");
  ASSERT_TRUE(ns);
  EXPECT_EQ(label_of(*ns, api::kClusterNameLabel), "") << "as it was before";
  EXPECT_EQ(api_->count("delete", "namespaces"), 0);
  EXPECT_TRUE(leave_on_hub(client(), options_)->empty());
}

TEST_F(DepartureTest, ADryRunTellsWhatTheRealRunDoesWithWorksLeft) {
  api_->put(api::managed_clusters(), object(api::managed_clusters(), "c1"));
  cluster_namespace("c1", true);
  api_->put(api::manifest_works(), object(api::manifest_works(), "w1", "c1"));
  api_->put(api::applied_manifest_works(), object(api::applied_manifest_works(), "hash-w1"));
  for (const kube::DryRun mode : {kube::DryRun::kClient, kube::DryRun::kServer}) {
    const auto hub = leave_on_hub(client(mode), options_);
    ASSERT_TRUE(hub) << hub.error().message;
    EXPECT_TRUE(told(*hub, "ManagedCluster", install::Action::kDeleted));
    EXPECT_TRUE(told(*hub, "Namespace", install::Action::kDeleted));
    DepartureOptions after = options_;
    EXPECT_FALSE(leave_on_spoke(client(mode), after)) << "alone it would leave works behind";
    after.left_hub = true;
    const auto spoke = leave_on_spoke(client(mode), after);
    EXPECT_TRUE(spoke) << spoke.error().message;
  }
  EXPECT_TRUE(api_->get(api::managed_clusters(), "", "c1"));
  EXPECT_TRUE(api_->get(r::namespaces(), "", "c1"));
}

TEST_F(DepartureTest, WorksOfAClusterThatIsGoneAreNotDeletedWithTheirNamespace) {
  cluster_namespace("c1", true);
  api_->put(api::manifest_works(), object(api::manifest_works(), "w1", "c1"));
  for (const kube::DryRun mode : {kube::DryRun::kNone, kube::DryRun::kServer}) {
    const auto left = leave_on_hub(client(mode), options_);
    ASSERT_FALSE(left);
    EXPECT_EQ(left.error().category, Category::kConflict);
    EXPECT_FALSE(left.error().hint.empty());
  }
  EXPECT_TRUE(api_->get(r::namespaces(), "", "c1"));
}

TEST_F(DepartureTest, ANameThatIsNoClustersIsNotBelieved) {
  const auto store = [&](const std::string& name) {
    Json secret = object(r::secrets(), std::string(api::kHubKubeconfigSecret), std::string(api::kAgentNamespace));
    secret["data"]["cluster-name"] = base64_encode(name);
    api_->put(r::secrets(), secret);
    return joined_as(client());
  };
  EXPECT_EQ(*joined_as(client()), "");
  EXPECT_EQ(*store("c1"), "c1");
  EXPECT_EQ(*store(""), "");
  for (const char* wrong : {"../c2", "C1", "c1\n", "c1/x"}) {
    const auto name = store(wrong);
    ASSERT_FALSE(name) << wrong;
    EXPECT_NE(name.error().hint.find("--cluster-name"), std::string::npos);
  }
}

}  // namespace
}  // namespace fleetadm::join
