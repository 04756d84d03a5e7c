// placement simulate and explain against a hub in memory (tests/cli has them from files).
#include <gtest/gtest.h>

#include "commands/placement/placement.h"
#include "core/api/kinds.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

class LivePlacements : public testing::Test {
 protected:
  void SetUp() override {
    register_placement(registry);
    context.globals.config.ns = "apps";
    for (const char* name : {"c1", "c2", "c3"}) {
      put(api::managed_clusters(), name, "", {{"labels", {{std::string(api::kClusterSetLabel), "prod"}, {"env", "prod"}}}},
          Json::object());
    }
    put(api::managed_cluster_sets(), "prod", "", Json::object(), Json::object());
    put(api::managed_cluster_set_bindings(), "prod", "apps", Json::object(), {{"clusterSet", "prod"}});
    put(api::placements(), "web", "apps", Json::object(), {{"numberOfClusters", 1}});
    put(api::placements(), "elsewhere", "other", Json::object(), Json::object());
    Json decision{{"apiVersion", api::placement_decisions().api_version()},
                  {"kind", "PlacementDecision"},
                  {"metadata",
                   {{"name", "web-decision-1"}, {"namespace", "apps"}, {"labels", {{std::string(api::kPlacementLabel), "web"}}}}},
                  {"status", {{"decisions", {{{"clusterName", "c2"}, {"reason", ""}}}}}}};
    api->put(api::placement_decisions(), decision);
    api->forget_calls();
  }
  void put(const kube::Resource& resource, const std::string& name, const std::string& ns, Json metadata, Json spec) {
    metadata["name"] = name;
    if (!ns.empty()) metadata["namespace"] = ns;
    api->put(resource, {{"apiVersion", resource.api_version()},
                        {"kind", resource.kind},
                        {"metadata", std::move(metadata)},
                        {"spec", std::move(spec)}});
  }
  Result<Report> run(std::string_view path, const std::vector<std::string>& args, const Flags& flags = {}) {
    return testkit::run_command(registry, path, context, flags, args);
  }

  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make();
  Registry registry;
  testkit::FakeContext context{api->client()};
};

TEST_F(LivePlacements, SimulateReadsTheHubAndWritesNothing) {
  const auto report = run("placement simulate", {}, {{"what-if", "down=c2"}});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  ASSERT_EQ(list_at(report->data, {"placements"}).size(), 1U) << "those of the namespace";
  const Json& web = list_at(report->data, {"placements"}).at(0);
  EXPECT_EQ(str(web, {"against"}), "decisions");
  EXPECT_EQ(string_list_at(web, {"moves", "added"}), std::vector<std::string>{"c1"});
  EXPECT_EQ(string_list_at(web, {"moves", "removed"}), std::vector<std::string>{"c2"});
  EXPECT_EQ(api->write_count(), 0);
  const auto all = run("placement simulate", {}, {{"all-namespaces", "true"}});
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(list_at(all->data, {"placements"}).size(), 2U);
}

TEST_F(LivePlacements, ChangesAreMadeInTheirOrder) {
  const auto chosen = [&](const std::string& what_if) {
    const auto report = run("placement simulate", {"web"}, {{"what-if", what_if}});
    return report ? string_list_at(list_at(report->data, {"placements"}).at(0), {"selected"})
                  : std::vector<std::string>{report.error().message};
  };
  EXPECT_EQ(chosen("down=c2,up=c2"), std::vector<std::string>{"c2"});
  EXPECT_EQ(chosen("taint=c2:k=v:NoSelect,untaint=c2:k"), std::vector<std::string>{"c2"});
  EXPECT_EQ(chosen("remove=c2,remove=c1"), std::vector<std::string>{"c3"});
  EXPECT_EQ(chosen("label=c2:cluster.open-cluster-management.io/clusterset-"), std::vector<std::string>{"c1"});
  EXPECT_NE(chosen("remove=c2,down=c2").front().find("there is no cluster \"c2\""), std::string::npos);
}

TEST_F(LivePlacements, WhatMayNotBeReadIsLeftOutWithANote) {
  const auto report_without = [&](const char* plural) {
    api->on_request([plural](const testkit::ApiCall& call) -> std::optional<kube::Response> {
      if (call.plural != plural || !call.ns.empty()) return std::nullopt;
      kube::Response response;
      response.status = 403;
      response.body = R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"})";
      return response;
    });
    return run("placement simulate", {"web"});
  };
  for (const char* plural : {"placementdecisions", "placements", "managedclustersetbindings"}) {
    const auto report = report_without(plural);
    ASSERT_TRUE(report.has_value()) << plural << ": " << report.error().message;
    EXPECT_EQ(string_list_at(list_at(report->data, {"placements"}).at(0), {"moves", "kept"}), std::vector<std::string>{"c2"});
  }
  const auto no_scores = report_without("addonplacementscores");
  ASSERT_TRUE(no_scores.has_value()) << no_scores.error().message;
  EXPECT_EQ(list_at(no_scores->data, {"notes"}).size(), 1U);
  const auto no_clusters = report_without("managedclusters");
  ASSERT_FALSE(no_clusters.has_value());
  EXPECT_EQ(no_clusters.error().category, Category::kAuth);
}

TEST_F(LivePlacements, ExplainTellsEachCluster) {
  auto report = run("placement explain", {"web"});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  const Json& items = list_at(report->data, {"items"});
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(str(items.at(0), {"cluster"}), "c2");
  EXPECT_EQ(str(items.at(0), {"stage"}), "Selected");
  EXPECT_TRUE(flag(items.at(0), {"decided"}));
  EXPECT_EQ(str(items.at(1), {"stage"}), "Limit");
  EXPECT_EQ(num(list_at(items.at(1), {"changes"}).at(0), {"number"}), 2);
  report = run("placement explain", {"web"}, {{"cluster", "c3"}});
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->table->rows.size(), 1U);
  EXPECT_EQ(run("placement explain", {"elsewhere"}).error().hint, "there is one in namespace other; use -n");
  EXPECT_EQ(run("placement explain", {"web"}, {{"cluster", "d3"}}).error().hint.substr(0, 12), "did you mean");
  EXPECT_EQ(api->write_count(), 0);
}

}  // namespace
}  // namespace fleetadm::commands
