#include "core/proxy/rules/routes.h"

#include <gtest/gtest.h>

namespace fleetadm::proxy {
namespace {

struct Expected {
  const char* path;
  const char* cluster;
  const char* at_member;
  PathForm form;
};

TEST(Routes, EveryFormNamesTheClusterAndKeepsThePathByteForByte) {
  const std::vector<Expected> cases = {
      {"/clusters/c1/proxy/api/v1/pods", "c1", "/api/v1/pods", PathForm::kClusters},
      {"/clusters/c1/proxy", "c1", "/", PathForm::kClusters},
      {"/clusters/c1/proxy/", "c1", "/", PathForm::kClusters},
      {"/clusters/c1/proxy/api/v1/namespaces/n/pods/a%3Ab%2Fc%25", "c1", "/api/v1/namespaces/n/pods/a%3Ab%2Fc%25",
       PathForm::kClusters},
      {"/clusters/c1/proxy/a//b/", "c1", "/a//b/", PathForm::kClusters},
      {"/clusters/proxy/proxy/proxy", "proxy", "/proxy", PathForm::kClusters},
      {"/apis/cluster.core.oam.dev/v1alpha1/clustergateways/c.1/proxy/apis/apps/v1", "c.1", "/apis/apps/v1",
       PathForm::kClusterGateway},
      {"/apis/cluster.karmada.io/v1alpha1/clusters/c1/proxy/version", "c1", "/version", PathForm::kKarmada},
      {"/c1/api/v1/pods", "c1", "/api/v1/pods", PathForm::kUserServer},
      {"/c1/", "c1", "/", PathForm::kUserServer},
      {"/c1/clusters/c2/proxy/api", "c1", "/clusters/c2/proxy/api", PathForm::kUserServer},
  };
  for (const Expected& expected : cases) {
    const auto route = parse_route(expected.path, "watch=true&labelSelector=a%3Db");
    ASSERT_TRUE(route) << expected.path << ": " << route.error().message;
    EXPECT_EQ(route->cluster, expected.cluster) << expected.path;
    EXPECT_EQ(route->path, expected.at_member) << expected.path;
    EXPECT_EQ(route->form, expected.form) << expected.path;
    EXPECT_FALSE(route->service) << expected.path;
  }
}

TEST(Routes, AClusterThatIsKnownToBeDownIsAskedAnyway) {
  const auto route = parse_route("/anyway/clusters/c1/proxy/api/v1/pods", "");
  ASSERT_TRUE(route) << route.error().message;
  EXPECT_EQ(route->cluster, "c1");
  EXPECT_EQ(route->path, "/api/v1/pods");
  EXPECT_TRUE(route->anyway);
  EXPECT_FALSE(parse_route("/clusters/c1/proxy/api", "")->anyway);
  EXPECT_EQ(parse_route("/anyway/api/v1/pods", "")->cluster, "anyway") << "a cluster of that name";
  for (const char* path : {"/anyway/clusters/c1", "/anyway/clusters//proxy/x", "/anyway/clusters/c1/proxy/../x", "/anyway"})
    EXPECT_FALSE(parse_route(path, "")) << path;
}

TEST(Routes, WhatCanBeReadInTwoWaysIsRefused) {
  for (const char* path : {"",
                           "*",
                           "http://h/clusters/c1/proxy/api",
                           "//clusters/c1/proxy/api",
                           "/clusters//proxy/api",
                           "/clusters//c1/proxy/api",
                           "/clusters/c1/proxy//api",
                           "/c1//api",
                           "/clusters/c1/proxy/../c2/proxy",
                           "/clusters/c1/proxy/a/./b",
                           "/clusters/c1/proxy/%2e%2e/x",
                           "/clusters/c1/proxy/%2E./x",
                           "/clusters/c1/proxy/a%2f..%2fb",
                           "/clusters/c1/proxy/..",
                           "/clusters/../proxy/x",
                           "/clusters/c1%2f/proxy/x",
                           "/clusters/c1%00/proxy/x",
                           "/clusters/c1/proxy/%00",
                           "/clusters/C1/proxy/x",
                           "/clusters/c_1/proxy/x",
                           "/clusters/-c/proxy/x",
                           "/clusters/%631/proxy/x",
                           "/clusters/c1/proxy/%",
                           "/clusters/c1/proxy/%zz",
                           "/clusters/c1/proxy/%2",
                           "/clusters/c1/proxy/a b",
                           "/clusters/c1/proxy/a\x01",
                           "/clusters/c1/proxy/a\r\nx",
                           "/clusters/c1/proxy/a#b",
                           "/C1/api"}) {
    const auto route = parse_route(path, "");
    ASSERT_FALSE(route) << path;
    EXPECT_EQ(route.error().code, 400) << path << ": " << route.error().message;
  }
  for (const char* query : {"a b", "a\r\nx", "a\x7f"}) EXPECT_FALSE(parse_route("/clusters/c1/proxy/api", query)) << query;
}

TEST(Routes, OtherPathsNameNoCluster) {
  for (const char* path :
       {"/", "/healthz", "/c1", "/clusters", "/clusters/", "/clusters/c1", "/clusters/c1/", "/clusters/c1/proxyx",
        "/clusters/c1/status/proxy", "/apis", "/apis/apps/v1/deployments", "/apis/cluster.karmada.io/v1alpha1/clusters/c1",
        "/apis/cluster.karmada.io/v1beta1/clusters/c1/proxy/x"}) {
    const auto route = parse_route(path, "");
    ASSERT_FALSE(route) << path;
    EXPECT_EQ(route.error().code, 404) << path;
  }
}

TEST(Routes, TheServiceFormBecomesTheProxyOfTheService) {
  struct Case {
    const char* path;
    ServiceTarget service;
    const char* at_member;
  };
  const std::vector<Case> cases = {
      {"/c1/api/v1/namespaces/n/services/https:web:8443/proxy-service/a%3Ab/c",
       {"n", "web", "https", "8443"},
       "/api/v1/namespaces/n/services/https:web:8443/proxy/a%3Ab/c"},
      {"/c1/api/v1/namespaces/n/services/web:metrics/proxy-service/",
       {"n", "web", "https", "metrics"},
       "/api/v1/namespaces/n/services/https:web:metrics/proxy/"},
      {"/clusters/c1/proxy/api/v1/namespaces/n/services/http:web:80/proxy-service/x",
       {"n", "web", "http", "80"},
       "/api/v1/namespaces/n/services/http:web:80/proxy/x"},
  };
  for (const Case& one : cases) {
    const auto route = parse_route(one.path, "");
    ASSERT_TRUE(route) << one.path << ": " << route.error().message;
    ASSERT_TRUE(route->service) << one.path;
    EXPECT_EQ(*route->service, one.service) << one.path;
    EXPECT_EQ(route->path, one.at_member) << one.path;
  }
}

TEST(Routes, ServicesThatAreNoneAreRefused) {
  for (const char* target : {"web", "ftp:web:80", "https:web:0", "https:web:70000", "https:web:", "https::80", "a:b:c:80",
                             "Web:80", "https:web:8%2f0", "https:web%00:80", "https:web:080"}) {
    const auto route = parse_route(std::string("/c1/api/v1/namespaces/n/services/") + target + "/proxy-service/x", "");
    ASSERT_FALSE(route) << target;
    EXPECT_EQ(route.error().code, 400) << target;
  }
  EXPECT_FALSE(parse_route("/c1/api/v1/namespaces/N/services/web:80/proxy-service/x", ""));
}

TEST(Routes, APathBesideTheServiceFormIsTheMembers) {
  for (const char* path :
       {"/c1/api/v1/namespaces/n/services/web:80/proxy/x", "/c1/api/v1/namespaces/n/services/web:80/proxy-service",
        "/c1/api/v1/namespaces/n/pods/web:80/proxy-service/x"}) {
    const auto route = parse_route(path, "");
    ASSERT_TRUE(route) << path;
    EXPECT_FALSE(route->service) << path;
  }
}

}  // namespace
}  // namespace fleetadm::proxy
