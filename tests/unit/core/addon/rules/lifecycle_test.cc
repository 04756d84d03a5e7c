#include "core/addon/rules/lifecycle.h"

#include <gtest/gtest.h>

namespace fleetadm::addon {
namespace {

Pass pass_over(const std::string& lifecycle, const std::string& resource) {
  MemoryObjects objects;
  Json declaration{{"apiVersion", "addon.open-cluster-management.io/v1beta1"}, {"kind", "ClusterManagementAddOn"}};
  declaration["metadata"] = Json{{"name", "hello"}};
  declaration["metadata"]["annotations"] = Json::object({{"addon.open-cluster-management.io/lifecycle", lifecycle}, {"a", "b"}});
  declaration["spec"]["defaultConfigs"] =
      Json::array({Json{{"group", "addon.open-cluster-management.io"}, {"resource", resource}}});
  objects.put(std::move(declaration));
  return lifecycle_pass(objects, "hello");
}

TEST(AddonLifecycle, ATemplatesAddonThatManagesItselfSaysSoWithAnEmptyText) {
  const Pass pass = pass_over("self", "addontemplates");
  ASSERT_EQ(pass.changed.size(), 1U);
  const Json wanted{{"addon.open-cluster-management.io/lifecycle", ""}, {"a", "b"}};
  EXPECT_EQ(object_at(pass.changed[0], {"metadata", "annotations"}), wanted);
}

TEST(AddonLifecycle, AllOthersStayAsTheyAre) {
  EXPECT_TRUE(pass_over("", "addontemplates").changed.empty());
  EXPECT_TRUE(pass_over("addon-manager", "addontemplates").changed.empty());
  EXPECT_TRUE(pass_over("self", "addondeploymentconfigs").changed.empty());
}

}  // namespace
}  // namespace fleetadm::addon
