#include "commands/clusterset/clusterset.h"

#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;
using Lines = std::vector<std::string>;

class ClusterSetCommands : public testing::Test {
 protected:
  void SetUp() override {
    register_clusterset(registry);
    context.globals.config.ns = "apps";
    for (const char* name : {"c1", "c2", "c3"}) put_cluster(name);
  }
  void put_cluster(const std::string& name, Json labels = Json::object()) {
    api->put(api::managed_clusters(), {{"apiVersion", api::managed_clusters().api_version()},
                                       {"kind", "ManagedCluster"},
                                       {"metadata", {{"name", name}, {"labels", std::move(labels)}}}});
  }
  Result<Report> run(std::string_view path, const std::string& name, const Flags& flags = {}) {
    return testkit::run_command(registry, path, context, flags, name.empty() ? Lines{} : Lines{name});
  }
  Lines lines(std::string_view path, const std::string& name, const Flags& flags = {}) {
    const auto report = run(path, name, flags);
    return report ? report->lines : Lines{"error: " + report.error().message};
  }
  std::string set_of(const std::string& cluster) const {
    return label_of(api->get(api::managed_clusters(), "", cluster).value_or(Json()), api::kClusterSetLabel);
  }

  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make();
  Registry registry;
  testkit::FakeContext context{api->client()};
};

TEST_F(ClusterSetCommands, CreateTwiceIsOneSet) {
  EXPECT_EQ(lines("clusterset create", "prod"), Lines{"managedclusterset prod created"});
  EXPECT_EQ(lines("clusterset create", "prod"), Lines{"managedclusterset prod unchanged"});
  EXPECT_EQ(api->count("create", "managedclustersets"), 1);
  EXPECT_EQ(run("clusterset create", "prod", {{"selector", "env=prod"}}).error().category, Category::kConflict);
  EXPECT_EQ(run("clusterset create", "No_Name").error().category, Category::kUsage);
  ASSERT_TRUE(run("clusterset create", "eu", {{"selector", "region=eu"}}).has_value());
  const Json eu = api->get(api::managed_cluster_sets(), "", "eu").value_or(Json());
  EXPECT_EQ(str(eu, {"spec", "clusterSelector", "selectorType"}), "LabelSelector");
  EXPECT_EQ(str(eu, {"spec", "clusterSelector", "labelSelector", "matchLabels", "region"}), "eu");
}

TEST_F(ClusterSetCommands, SetPutsMovesAndTakesOut) {
  ASSERT_TRUE(run("clusterset create", "prod").has_value());
  put_cluster("c2", {{std::string(api::kClusterSetLabel), "dev"}});
  put_cluster("c3", {{std::string(api::kClusterSetLabel), "default"}});
  EXPECT_EQ(lines("clusterset set", "prod", {{"clusters", "c1,c2,c3"}}),
            (Lines{"managedcluster c1 added to set prod", "managedcluster c2 moved from set dev to set prod",
                   "managedcluster c3 added to set prod"}));
  EXPECT_EQ(lines("clusterset set", "prod", {{"clusters", "c1"}}), Lines{"managedcluster c1 is already in set prod"});
  EXPECT_EQ(lines("clusterset set", "prod", {{"remove-clusters", "c1"}}), Lines{"managedcluster c1 removed from set prod"});
  EXPECT_EQ(set_of("c1"), "");
  EXPECT_EQ(set_of("c2"), "prod");
  const auto some = run("clusterset set", "prod", {{"clusters", "c1,absent"}});
  ASSERT_TRUE(some.has_value());
  ASSERT_EQ(some->failures.size(), 1U);
  EXPECT_EQ(some->failures[0].cluster, "absent");
  EXPECT_EQ(set_of("c1"), "prod");
  EXPECT_EQ(run("clusterset set", "prod", {{"clusters", "absent"}}).error().category, Category::kNotFound);
  EXPECT_EQ(run("clusterset set", "none", {{"clusters", "c1"}}).error().category, Category::kNotFound);
  EXPECT_EQ(run("clusterset set", "prod").error().category, Category::kUsage);
  ASSERT_TRUE(run("clusterset create", "eu", {{"selector", "region=eu"}}).has_value());
  EXPECT_EQ(run("clusterset set", "eu", {{"clusters", "c1"}}).error().category, Category::kUsage);
}

TEST_F(ClusterSetCommands, ManagedNamespaces) {
  ASSERT_TRUE(run("clusterset create", "prod").has_value());
  EXPECT_EQ(lines("clusterset set", "prod", {{"namespaces", "shop,pay"}}), Lines{"managedclusterset prod configured"});
  EXPECT_EQ(lines("clusterset set", "prod", {{"namespaces", "pay"}}), Lines{"managedclusterset prod unchanged"});
  EXPECT_EQ(lines("clusterset set", "prod", {{"remove-namespaces", "shop"}}), Lines{"managedclusterset prod configured"});
  const Json set = api->get(api::managed_cluster_sets(), "", "prod").value_or(Json());
  EXPECT_EQ(dump_json(list_at(set, {"spec", "managedNamespaces"})), R"([{"name":"pay"}])");
}

TEST_F(ClusterSetCommands, BindUnbindDelete) {
  EXPECT_EQ(run("clusterset bind", "prod").error().category, Category::kNotFound);
  ASSERT_TRUE(run("clusterset create", "prod").has_value());
  EXPECT_EQ(lines("clusterset bind", "prod"), Lines{"managedclusterset prod bound to namespace apps"});
  EXPECT_EQ(lines("clusterset bind", "prod"), Lines{"managedclusterset prod is already bound to namespace apps"});
  const Json binding = api->get(api::managed_cluster_set_bindings(), "apps", "prod").value_or(Json());
  EXPECT_EQ(str(binding, {"spec", "clusterSet"}), "prod");
  EXPECT_EQ(run("clusterset delete", "prod").error().category, Category::kConflict) << "it is in use";
  EXPECT_EQ(lines("clusterset unbind", "prod"), Lines{"managedclusterset prod unbound from namespace apps"});
  EXPECT_EQ(lines("clusterset unbind", "prod"), Lines{"managedclusterset prod is not bound to namespace apps"});
  EXPECT_EQ(lines("clusterset delete", "prod"), Lines{"managedclusterset prod deleted"});
  EXPECT_EQ(lines("clusterset delete", "prod"), Lines{"managedclusterset prod not found (nothing to delete)"});
  for (const char* name : {"default", "global"})
    EXPECT_EQ(run("clusterset delete", name).error().category, Category::kUsage) << name;
}

TEST_F(ClusterSetCommands, DryRunSendsNothingThatWrites) {
  ASSERT_TRUE(run("clusterset create", "prod").has_value());
  auto gate = std::make_shared<kube::WriteGate>();
  gate->dry_run = kube::DryRun::kClient;
  testkit::FakeContext dry(api->client(gate));
  const int writes = api->write_count();
  const auto run_dry = [&](std::string_view path, const std::string& name, const Flags& flags = {}) {
    const auto report = testkit::run_command(registry, path, dry, flags, {name});
    return report ? report->lines.front() : "error: " + report.error().message;
  };
  EXPECT_EQ(run_dry("clusterset create", "new"), "managedclusterset new created (dry run)");
  EXPECT_EQ(run_dry("clusterset set", "prod", {{"clusters", "c1"}}), "managedcluster c1 added to set prod (dry run)");
  EXPECT_EQ(run_dry("clusterset set", "prod", {{"namespaces", "x"}}), "managedclusterset prod configured (dry run)");
  EXPECT_EQ(run_dry("clusterset bind", "prod"), "managedclusterset prod bound to namespace default (dry run)");
  EXPECT_EQ(run_dry("clusterset delete", "prod"), "managedclusterset prod deleted (dry run)");
  EXPECT_EQ(api->write_count(), writes);
}

}  // namespace
}  // namespace fleetadm::commands
