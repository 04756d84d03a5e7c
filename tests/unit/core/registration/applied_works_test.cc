// What the works of an agent that is gone have left: it goes without the help of the garbage collector.
#include "core/registration/join/applied_works.h"

#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "core/work/rules/ownership.h"
#include "tests/support/fake_api.h"

namespace fleetadm::join {
namespace {

namespace r = kube::resources;

class AppliedWorksTest : public ::testing::Test {
 protected:
  /// A ConfigMap that these own.
  void owned_map(const std::string& name, const std::vector<work::Owner>& owners) {
    Json references = Json::array();
    for (const work::Owner& owner : owners) references.push_back(owner.reference());
    api_->put(r::config_maps(), {{"apiVersion", "v1"},
                                 {"kind", "ConfigMap"},
                                 {"metadata", {{"name", name}, {"namespace", "default"}, {"ownerReferences", references}}}});
  }
  Json applied_work(const std::vector<std::string>& maps) const {
    std::vector<work::AppliedResource> inventory;
    for (const std::string& name : maps) {
      const auto live = api_->get(r::config_maps(), "default", name);
      inventory.push_back({"", "v1", "configmaps", "default", name, live ? uid_of(*live) : "gone"});
    }
    return {{"apiVersion", api::applied_manifest_works().api_version()},
            {"kind", api::applied_manifest_works().kind},
            {"metadata", {{"name", kOwn.name}, {"uid", kOwn.uid}}},
            {"status", {{"appliedResources", work::inventory_json(inventory)}}}};
  }
  bool is_there(const std::string& name) const { return api_->get(r::config_maps(), "default", name).has_value(); }

  inline static const work::Owner kOwn{"hash-w1", "u1"};
  inline static const work::Owner kOther{"hash-w2", "u2"};
  std::shared_ptr<testkit::FakeApi> api_ = testkit::FakeApi::make();
};

TEST_F(AppliedWorksTest, WhatTheWorkAloneOwnsGoes) {
  owned_map("own", {kOwn});
  owned_map("shared", {kOwn, kOther});
  owned_map("released", {});
  const Json work = applied_work({"own", "shared", "released", "missing"});
  const Status removed = remove_owned(api_->client(), work);
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(is_there("own"));
  EXPECT_TRUE(is_there("shared")) << "another work owns it, too";
  EXPECT_TRUE(is_there("released")) << "it was to stay";
  const int writes = api_->write_count();
  EXPECT_TRUE(remove_owned(api_->client(), work));
  EXPECT_EQ(api_->write_count(), writes);
}

TEST_F(AppliedWorksTest, AnotherObjectOfTheNameStays) {
  owned_map("own", {kOwn});
  Json work = applied_work({"own"});
  work["status"]["appliedResources"][0]["uid"] = "of-another-time";
  ASSERT_TRUE(remove_owned(api_->client(), work));
  EXPECT_TRUE(is_there("own"));
}

TEST_F(AppliedWorksTest, ADryRunDeletesNothing) {
  owned_map("own", {kOwn});
  auto gate = std::make_shared<kube::WriteGate>();
  gate->dry_run = kube::DryRun::kServer;
  ASSERT_TRUE(remove_owned(api_->client(gate), applied_work({"own"})));
  EXPECT_TRUE(is_there("own"));
}

}  // namespace
}  // namespace fleetadm::join
