// What the headers of upstream's user server ask of a member.
#include "core/proxy/addon/target.h"

#include <gtest/gtest.h>

namespace fleetadm::proxy {
namespace {

serve::HttpRequest to(const std::string& protocol, const std::string& ns, const std::string& service, const std::string& port,
                      const std::string& path = "/") {
  serve::HttpRequest out;
  out.method = "GET";
  out.path = path;
  out.headers = {{"cluster-proxy-proto", protocol},
                 {"cluster-proxy-namespace", ns},
                 {"cluster-proxy-service", service},
                 {"cluster-proxy-port", port}};
  return out;
}

TEST(TargetPath, OfTheApiServerIsThePathItself) {
  EXPECT_EQ(target_path(to("https", "default", "kubernetes", "443", "/api/v1/pods/a%3Ab")), "/api/v1/pods/a%3Ab");
  EXPECT_EQ(target_path(to("https", "default", "kubernetes", "443")), "/");
}

TEST(TargetPath, OfAServiceIsItsProxySubresource) {
  EXPECT_EQ(target_path(to("http", "web", "shop", "8080", "/a/b%2Fc")),
            "/api/v1/namespaces/web/services/http:shop:8080/proxy/a/b%2Fc");
  EXPECT_EQ(target_path(to("https", "web", "kubernetes", "https")),
            "/api/v1/namespaces/web/services/https:kubernetes:https/proxy/");
}

TEST(TargetPath, WhatNamesNoTargetIsRefused) {
  auto without = to("https", "default", "kubernetes", "443");
  without.headers.erase(without.headers.begin() + 2);
  auto twice = to("https", "default", "kubernetes", "443");
  twice.headers.emplace_back("cluster-proxy-namespace", "web");
  const std::vector<serve::HttpRequest> all = {
      without,
      twice,
      to("", "web", "shop", "80"),
      to("ftp", "web", "shop", "80"),
      to("https", "web", "shop", "0"),
      to("https", "web", "shop/../..", "80"),
      to("https", "web/services/other:80/proxy-service", "shop", "80"),
      to("https", "web", "http:shop", "80"),
      to("https", "web", "shop", "80", "/../x"),
      to("https", "web", "shop", "80", "/%2e%2e/x"),
      to("https", "default", "kubernetes", "443", "/api/%2E%2E/x"),
      to("https", "default", "kubernetes", "443", "//api"),
      to("https", "default", "kubernetes", "443", "/a b"),
      to("https", "default", "kubernetes", "443", "/%zz"),
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto path = target_path(all[i]);
    ASSERT_FALSE(path) << i << " " << *path;
    EXPECT_EQ(path.error().code, 400) << i;
  }
}

}  // namespace
}  // namespace fleetadm::proxy
