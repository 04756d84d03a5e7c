#include "kubeclient/rest/resource.h"

#include <gtest/gtest.h>

namespace fleetadm::kube {
namespace {

TEST(ResourceTest, Paths) {
  EXPECT_EQ(resources::pods().path("a", "b", "log"), "/api/v1/namespaces/a/pods/b/log");
  EXPECT_EQ(resources::pods().path(""), "/api/v1/pods");
  EXPECT_EQ(resources::deployments().path("a"), "/apis/apps/v1/namespaces/a/deployments");
  EXPECT_EQ(resources::nodes().path("ignored", "n"), "/api/v1/nodes/n");
  EXPECT_EQ(resources::cluster_roles().path("", "system:node"), "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node");
  EXPECT_EQ(resources::pods().path("a", "x y?#", "proxy/a/b"), "/api/v1/namespaces/a/pods/x%20y%3F%23/proxy/a/b");
}

TEST(ResourceTest, Names) {
  EXPECT_EQ(resources::deployments().qualified(), "deployments.apps");
  EXPECT_EQ(resources::pods().qualified(), "pods");
  EXPECT_EQ(resources::deployments().api_version(), "apps/v1");
  EXPECT_EQ(parse_api_version("apps/v1").group, "apps");
  EXPECT_EQ(parse_api_version("v1").version, "v1");
  EXPECT_EQ(object_key("", "x"), "x");
  EXPECT_EQ(split_key("a/x").ns, "a");
  EXPECT_EQ(split_key("x").name, "x");
  EXPECT_EQ(split_key("x").ns, "");
}

}  // namespace
}  // namespace fleetadm::kube
