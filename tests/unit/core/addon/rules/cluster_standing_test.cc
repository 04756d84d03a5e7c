#include "core/addon/rules/cluster_standing.h"

#include <gtest/gtest.h>

#include "core/controller/controller.h"
#include "kubeclient/base/clock.h"

namespace fleetadm::addon {
namespace {

constexpr const char* kFeature = "feature.open-cluster-management.io/addon-";

struct StandingOfClusters : testing::Test {
  MemoryObjects objects;
  Instant now = Instant{} + std::chrono::hours(500000);

  void put_cluster(const char* available, Json labels = Json::object()) {
    Json cluster{{"apiVersion", "cluster.open-cluster-management.io/v1"},
                 {"kind", "ManagedCluster"},
                 {"metadata", {{"name", "c1"}, {"labels", std::move(labels)}}}};
    if (available != nullptr) {
      controller::set_condition(at_or_make(cluster, {"status", "conditions"}), "ManagedClusterConditionAvailable", available,
                                "Because", "of that", now);
    }
    objects.put(std::move(cluster));
  }
  void put_addon(const std::string& name, const char* available, const char* cluster = "c1") {
    Json addon{{"apiVersion", "addon.open-cluster-management.io/v1beta1"},
               {"kind", "ManagedClusterAddOn"},
               {"metadata", {{"name", name}, {"namespace", cluster}}}};
    if (available != nullptr) {
      controller::set_condition(at_or_make(addon, {"status", "conditions"}), "Available", available, "Lease", "", now);
    }
    objects.put(std::move(addon));
  }
  void delete_softly(const GroupResource& type, const char* ns, const char* name) {
    Json object = *objects.get(type, ns, name);
    object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    objects.put(std::move(object));
  }
  Pass pass() const { return cluster_standing(objects, "c1", now); }
  /// The labels that the cluster would get; null: none is written.
  Json labels() const {
    for (const Json& object : pass().changed) {
      if (namespace_of(object).empty()) return object_at(object, {"metadata", "labels"});
    }
    return Json();
  }
};

TEST_F(StandingOfClusters, LabelsTellHowEachAddOnIs) {
  put_cluster("True", {{"env", "prod"}, {std::string(kFeature) + "gone", "available"}});
  put_addon("up", "True");
  put_addon("down", "False");
  put_addon("lost", "Unknown");
  put_addon("new", nullptr);
  put_addon("elsewhere", "True", "c2");
  const Json wanted{{"env", "prod"},
                    {std::string(kFeature) + "up", "available"},
                    {std::string(kFeature) + "down", "unhealthy"},
                    {std::string(kFeature) + "lost", "unreachable"},
                    {std::string(kFeature) + "new", "unreachable"}};
  EXPECT_EQ(labels(), wanted);
  EXPECT_EQ(pass().changed.size(), 1U);
  objects.put(pass().changed[0]);
  EXPECT_TRUE(pass().changed.empty()) << "nothing is left to be done";
}

TEST_F(StandingOfClusters, ALabelGoesWithItsAddOn) {
  put_cluster("True");
  put_addon("up", "True");
  objects.put(pass().changed[0]);
  delete_softly(managed_cluster_addons(), "c1", "up");
  EXPECT_EQ(labels(), Json::object());
}

TEST_F(StandingOfClusters, NothingIsLabelledBeforeTheClusterReportsOrWhileItIsDeleted) {
  put_cluster(nullptr);
  put_addon("up", "True");
  EXPECT_TRUE(pass().changed.empty());
  put_cluster("True");
  EXPECT_FALSE(pass().changed.empty());
  delete_softly(managed_clusters(), "", "c1");
  EXPECT_TRUE(pass().changed.empty());
}

TEST_F(StandingOfClusters, ANameThatMakesNoLabelDoesNotSpoilTheOthers) {
  put_cluster("True");
  put_addon("up", "True");
  put_addon(std::string(57, 'a'), "True");
  put_addon(std::string(58, 'b'), "True");
  EXPECT_EQ(labels(), (Json{{std::string(kFeature) + "up", "available"}, {kFeature + std::string(57, 'a'), "available"}}));
}

TEST_F(StandingOfClusters, AddOnsOfAClusterThatIsNotHeardFromAreUnknown) {
  put_cluster("Unknown");
  put_addon("up", "True");
  put_addon("new", nullptr);
  const Pass unheard = pass();
  ASSERT_EQ(unheard.changed.size(), 3U);
  for (std::size_t i = 0; i < 2; ++i) {
    const Json* available = controller::find_condition(unheard.changed[i], "Available");
    ASSERT_NE(available, nullptr);
    EXPECT_EQ(str(*available, {"status"}), "Unknown");
    EXPECT_EQ(str(*available, {"reason"}), "Because");
    EXPECT_EQ(str(*available, {"message"}), "of that");
  }
  EXPECT_EQ(labels(), (Json{{std::string(kFeature) + "up", "unreachable"}, {std::string(kFeature) + "new", "unreachable"}}));
  for (const Json& object : unheard.changed) objects.put(object);
  EXPECT_TRUE(pass().changed.empty());
}

TEST_F(StandingOfClusters, AClusterWhoseServerIsUnhealthyLeavesItsAddOnsAlone) {
  put_cluster("False");
  put_addon("up", "True");
  ASSERT_EQ(pass().changed.size(), 1U);
  EXPECT_EQ(labels(), (Json{{std::string(kFeature) + "up", "available"}}));
}

}  // namespace
}  // namespace fleetadm::addon
