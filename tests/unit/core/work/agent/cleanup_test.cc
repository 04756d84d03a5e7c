// What the removal of a work's objects remembers: an object that may still be there is never forgotten.
#include "core/work/agent/cleanup.h"

#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "core/work/rules/names.h"
#include "tests/unit/core/work/fleet.h"

namespace fleetadm::work {
namespace {

class RemoveResources : public ::testing::Test {
 protected:
  RemoveResources() {
    Json object = testing::parsed(testing::config_map("a", "1"));
    object["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", "work.open-cluster-management.io/v1"},
                                                          {"kind", "AppliedManifestWork"},
                                                          {"name", owner.name},
                                                          {"uid", owner.uid}}});
    fleet.spoke->put(kube::resources::config_maps(), object);
    resource.version = "v1";
    resource.resource = "configmaps";
    resource.ns = "default";
    resource.name = "a";
    resource.uid = uid_of(*fleet.config_map("a"));
  }
  CleanupResult remove() {
    return remove_resources(
        fleet.spoke->client(), {resource}, owner, [](const AppliedResource&) { return false; }, helpers, watch);
  }

  testing::Fleet fleet;
  Owner owner{"hash-w1", "owner-uid"};
  AppliedResource resource;
  controller::ParallelRunner helpers{2};
  ObjectWatch watch{fleet.spoke->client(), [](const std::string&) {}};
};

TEST_F(RemoveResources, WhatWasDeletedIsForgotten) {
  const CleanupResult cleaned = remove();
  EXPECT_TRUE(cleaned.remaining.empty());
  EXPECT_FALSE(cleaned.error);
  EXPECT_FALSE(fleet.config_map("a"));
}

TEST_F(RemoveResources, AConflictAtTheDeletionLeavesTheObject) {
  fleet.spoke->fail_next("delete", "configmaps", 409, "Conflict");
  const CleanupResult cleaned = remove();
  EXPECT_EQ(cleaned.remaining, std::vector<AppliedResource>{resource});
  EXPECT_FALSE(cleaned.error);
}

TEST_F(RemoveResources, AFailedDeletionIsRememberedAndTold) {
  fleet.spoke->fail_next("delete", "configmaps", 403, "Forbidden");
  const CleanupResult cleaned = remove();
  EXPECT_EQ(cleaned.remaining, std::vector<AppliedResource>{resource});
  ASSERT_TRUE(cleaned.error);
  EXPECT_NE(cleaned.error->message.find("cannot remove configmaps a"), std::string::npos) << cleaned.error->message;
}

/// What the watch shows is not read again.
class RemoveWatchedResources : public RemoveResources {
 protected:
  RemoveWatchedResources() {
    watch.track("w1", {{kube::resources::config_maps(), "default", "a"}});
    EXPECT_TRUE(testing::eventually([&] { return watch.look({kube::resources::config_maps(), "default", "a"}).exists; }));
    reads = fleet.spoke->count("get", "configmaps");
  }
  int further_reads() const { return fleet.spoke->count("get", "configmaps") - reads; }

  int reads = 0;
};

TEST_F(RemoveWatchedResources, AreDeletedWithoutARead) {
  const CleanupResult cleaned = remove();
  EXPECT_TRUE(cleaned.remaining.empty());
  EXPECT_FALSE(fleet.config_map("a"));
  EXPECT_EQ(further_reads(), 0);
}

TEST_F(RemoveWatchedResources, ThatChangedSinceAreReadFirst) {
  fleet.spoke->fail_next("delete", "configmaps", 409, "Conflict");
  const CleanupResult cleaned = remove();
  EXPECT_TRUE(cleaned.remaining.empty());
  EXPECT_FALSE(fleet.config_map("a"));
  EXPECT_EQ(further_reads(), 1);
}

TEST_F(RemoveWatchedResources, ThatOthersOwnTooAreRead) {
  Json object = *fleet.config_map("a");
  object["metadata"]["ownerReferences"].push_back(
      {{"apiVersion", "work.open-cluster-management.io/v1"}, {"kind", "AppliedManifestWork"}, {"name", "x"}, {"uid", "other"}});
  fleet.spoke->put(kube::resources::config_maps(), object);
  EXPECT_TRUE(testing::eventually([&] {
    return watch.look({kube::resources::config_maps(), "default", "a"}).only_owner.empty();
  }));
  const CleanupResult cleaned = remove();
  EXPECT_TRUE(cleaned.remaining.empty());
  ASSERT_TRUE(fleet.config_map("a"));
  EXPECT_EQ(further_reads(), 1);
}

}  // namespace
}  // namespace fleetadm::work
