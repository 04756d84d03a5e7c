#include "cli/written_to.h"

#include <gtest/gtest.h>

namespace fleetadm::cli {
namespace {

using commands::Target;
using kube::Method;

kube::RestConfig config(const std::string& name, const std::string& server) {
  kube::RestConfig out;
  out.name = name;
  out.server = server;
  return out;
}

TEST(WrittenToTest, EachClusterIsNamedOnce) {
  std::vector<std::string> said;
  WrittenTo written(Target::kHub, [&](const std::string& line) { said.push_back(line); });
  const auto hub = written.hook(config("staging", "https://user:s3cr3t@hub:6443"), true);
  EXPECT_TRUE(said.empty());
  EXPECT_TRUE(written.report().empty());
  ASSERT_TRUE(hub(Method::kPost, "/a"));
  ASSERT_TRUE(hub(Method::kPatch, "/b"));
  EXPECT_EQ(said, std::vector<std::string>{"hub: context \"staging\" (https://hub:6443)"});
  EXPECT_EQ(written.report(), *parse_json(R"({"hub":{"context":"staging","server":"https://hub:6443"}})"));
  ASSERT_TRUE(written.hook(config("c1", "https://c1"), false)(Method::kPost, "/a"));
  EXPECT_EQ(said.back(), "cluster: context \"c1\" (https://c1)");
}

TEST(WrittenToTest, AJoinsOwnSideIsTheCluster) {
  WrittenTo written(Target::kCluster, {});
  ASSERT_TRUE(written.hook(config("in-cluster", "https://10.0.0.1"), true)(Method::kPost, "/a"));
  ASSERT_TRUE(written.hook(config("hub", "https://hub"), false)(Method::kPost, "/a"));
  EXPECT_EQ(written.lines(),
            (std::vector<std::string>{"cluster: in-cluster (https://10.0.0.1)", "hub: context \"hub\" (https://hub)"}));
  EXPECT_EQ(written.report(),
            *parse_json(R"({"cluster":{"server":"https://10.0.0.1"},"hub":{"context":"hub","server":"https://hub"}})"));
  EXPECT_FALSE(WrittenTo(Target::kSilent, {}).hook(config("a", "b"), true));
}

TEST(WrittenToTest, ASideThatIsNamedIsCalledSo) {
  WrittenTo written(Target::kCluster, {});
  written.name_side(config("a", "https://a"), "hosting-cluster");
  written.name_side(config("b", "https://b"), "cluster");
  ASSERT_TRUE(written.hook(config("a", "https://a"), true)(Method::kPost, "/a"));
  ASSERT_TRUE(written.hook(config("b", "https://b"), false)(Method::kPost, "/a"));
  ASSERT_TRUE(written.hook(config("hub", "https://hub"), false)(Method::kPost, "/a"));
  EXPECT_EQ(written.lines(),
            (std::vector<std::string>{"hosting-cluster: context \"a\" (https://a)", "cluster: context \"b\" (https://b)",
                                      "hub: context \"hub\" (https://hub)"}));
}

TEST(WrittenToTest, WhatWasDoneIsCountedByResource) {
  WrittenTo written(Target::kHub, {});
  const auto count = written.count();
  const std::string works = "/apis/work.open-cluster-management.io/v1/namespaces/c1/manifestworks";
  count(Method::kPost, works, 201);
  count(Method::kPost, works, 409);
  count(Method::kPatch, works + "/web", 200);
  count(Method::kPatch, works + "/web/status", 200);
  count(Method::kPatch, works + "/other", 201);
  count(Method::kDelete, "/api/v1/namespaces/c1", 200);
  count(Method::kPost, "/api/v1/namespaces/c1/serviceaccounts/a/token", 201);
  count(Method::kPost, "/api/v1/namespaces", 201);
  EXPECT_EQ(written.done(),
            (std::vector<std::string>{"manifestworks: 1 changed, 2 created", "namespaces: 1 created, 1 deleted"}));
}

}  // namespace
}  // namespace fleetadm::cli
