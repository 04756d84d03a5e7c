// Leaving a fleet: what is deleted on the hub and what stays, and that a dry run tells the same.
#include "core/registration/join/unjoin.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "core/api/gateway.h"
#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/install/install.h"
#include "core/registration/hub/objects.h"
#include "core/registration/hub/rbac.h"
#include "core/work/rules/names.h"
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

// A hub takes seconds for the end of a namespace, in which the cluster's side is removed.
TEST_F(DepartureTest, TheEndOfTheNamespaceIsWaitedForByItself) {
  api_->put(api::managed_clusters(), object(api::managed_clusters(), "c1"));
  Json ns = registration::hub::cluster_namespace("c1");
  ns["metadata"]["finalizers"] = Json::array({"x"});
  api_->put(r::namespaces(), ns);
  EXPECT_TRUE(wait_for_namespace(client(), options_)) << "it is not being deleted";
  const auto left = leave_on_hub(client(), options_);
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_TRUE(told(*left, "Namespace", install::Action::kDeleted));
  options_.timeout = std::chrono::milliseconds(50);
  const Status stays = wait_for_namespace(client(), options_);
  ASSERT_FALSE(stays);
  EXPECT_EQ(stays.error().category, Category::kTimeout);
  EXPECT_NE(stays.error().message.find("the namespace c1 is still being deleted"), std::string::npos) << stays.error().message;
  options_.timeout = std::chrono::seconds(5);
  ASSERT_TRUE(leave_on_hub(client(), options_)) << "a run that was ended meanwhile is run again";
  const auto going = api_->get(r::namespaces(), "", "c1");
  ASSERT_TRUE(going);
  ASSERT_TRUE(registration::hub::drop_finalizers(client(), r::namespaces(), "", "c1", {"x"}, uid_of(*going)));
  EXPECT_TRUE(wait_for_namespace(client(), options_));
}

TEST_F(DepartureTest, AClusterThatIsHeldGoesWithTheSecondHalf) {
  Json cluster = object(api::managed_clusters(), "c1");
  cluster["metadata"]["finalizers"] = Json::array({"x"});
  api_->put(api::managed_clusters(), cluster);
  cluster_namespace("c1", true);
  options_.timeout = std::chrono::milliseconds(50);
  EXPECT_FALSE(take_works_back(client(), options_)) << "the hub has not done yet";
  const auto held = api_->get(api::managed_clusters(), "", "c1");
  ASSERT_TRUE(held && is_deleting(*held) && has_finalizer(*held, api::kLeavingFinalizer));
  ASSERT_TRUE(registration::hub::drop_finalizers(client(), api::managed_clusters(), "", "c1", {"x"}, uid_of(*held)));
  const auto first = take_works_back(client(), options_);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(api_->get(api::managed_clusters(), "", "c1"));
  EXPECT_TRUE(api_->get(r::namespaces(), "", "c1"));
  const auto second = forget_on_hub(client(), options_);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_FALSE(api_->get(api::managed_clusters(), "", "c1"));
  EXPECT_FALSE(api_->get(r::namespaces(), "", "c1"));
  EXPECT_TRUE(take_works_back(client(), options_)->empty());
  EXPECT_TRUE(forget_on_hub(client(), options_)->empty());
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

/// What works have left: of the agent, of an add-on and of a hub that dials the cluster, a ConfigMap each.
class OrphaningTest : public DepartureTest {
 protected:
  void SetUp() override {
    Json ns = object(r::namespaces(), "fleetadm-push-12345678");
    ns["metadata"]["labels"] = {{std::string(install::kPartLabel), "push-12345678"}};
    ns["metadata"]["annotations"] = {{std::string(api::kPushedByAnnotation), "12345678-other"}};
    api_->put(r::namespaces(), ns);
    put_applied("app", work::hub_hash("https://hub"));
    put_applied("addon-x-deploy-0", work::hub_hash("https://hub"));
    put_applied("pushed", work::hub_hash(api::push_hub_name("12345678-other")));
    options_.force = true;
  }
  void put_applied(const std::string& name, const std::string& hash) {
    Json applied = object(api::applied_manifest_works(), hash + "-" + name);
    applied["metadata"]["uid"] = "uid-of-" + name;
    applied["metadata"]["finalizers"] = Json::array({"cluster.open-cluster-management.io/applied-manifest-work-cleanup"});
    applied["spec"] = {{"hubHash", hash}, {"manifestWorkName", name}};
    applied["status"]["appliedResources"] = Json::array(
        {{{"version", "v1"}, {"resource", "configmaps"}, {"namespace", "default"}, {"name", name}, {"uid", "map-of-" + name}}});
    api_->put(api::applied_manifest_works(), applied);
    Json map = object(r::config_maps(), name, "default");
    map["metadata"]["uid"] = "map-of-" + name;
    const Json other{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"name", "other"}, {"uid", "1"}};
    const Json owner{{"apiVersion", api::applied_manifest_works().api_version()},
                     {"kind", "AppliedManifestWork"},
                     {"name", hash + "-" + name},
                     {"uid", "uid-of-" + name}};
    map["metadata"]["ownerReferences"] = name == "app" ? Json::array({other, owner}) : Json::array({owner});
    api_->put(r::config_maps(), map);
  }
  std::string owners_of(const std::string& map) {
    const auto live = api_->get(r::config_maps(), "default", map);
    if (!live) return "gone";
    std::string names;
    for (const Json& one : list_at(*live, {"metadata", "ownerReferences"})) names += str(one, {"uid"}) + " ";
    return names;
  }
};

TEST_F(OrphaningTest, WhatWorksAppliedStaysAndBelongsToNobodyOfUs) {
  options_.orphan = true;
  options_.hub_works = {"addon-x-deploy-0"};
  const auto left = leave_on_spoke(client(), options_);
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_EQ(owners_of("app"), "1 ") << "another owner stays";
  EXPECT_EQ(owners_of("addon-x-deploy-0"), "gone");
  EXPECT_EQ(owners_of("pushed"), "uid-of-pushed ");
  EXPECT_EQ(api_->all(api::applied_manifest_works()).size(), 1U) << "of the hub that dials the cluster";
}

TEST_F(OrphaningTest, WhatTheHubItselfSendsIsNobodysWorkload) {
  const auto put = [&](const std::string& name, const std::string& label) {
    Json work = object(api::manifest_works(), name, "c1");
    if (!label.empty()) work["metadata"]["labels"] = {{label, "x"}};
    api_->put(api::manifest_works(), work);
  };
  put("app", "");
  put("addon-x-deploy-0", std::string(api::kAddonNameLabel));
  put("fleetadm-push-proxy", std::string(api::kGatewayWorkLabel));
  EXPECT_EQ(works_of_hub(client(), "c1").value(), (std::set<std::string>{"addon-x-deploy-0", "fleetadm-push-proxy"}));
}

TEST_F(OrphaningTest, ForceRemovesWhatIsOfTheAgentAlone) {
  const auto left = leave_on_spoke(client(), options_);
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_EQ(owners_of("addon-x-deploy-0"), "gone");
  EXPECT_EQ(owners_of("pushed"), "uid-of-pushed ");
  EXPECT_EQ(applied_work_names(client()).value(), std::vector<std::string>{});
}

TEST_F(OrphaningTest, ADryRunReleasesNothing) {
  options_.orphan = true;
  const auto left = leave_on_spoke(client(kube::DryRun::kServer), options_);
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_EQ(owners_of("app"), "1 uid-of-app ");
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
