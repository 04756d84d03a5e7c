// The rows that a real server prints are those that we make of the objects.
#include "commands/get/cluster_table.h"

#include <gtest/gtest.h>

#include "commands/get/get.h"
#include "core/api/kinds.h"
#include "tests/support/placement_lab.h"

namespace fleetadm::testkit {
namespace {

using Rows = std::vector<std::vector<std::string>>;

class ClusterTable : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    auto started = PlacementLab::start();
    ASSERT_TRUE(started) << started.error().message;
    lab = std::move(*started);
  }
  static void TearDownTestSuite() { lab.reset(); }
  void SetUp() override {
    if (!lab) GTEST_SKIP() << KubeServer::programs().error().message;
  }

  static void put_set(const std::string& name) {
    const auto made = lab->put({{"apiVersion", api::managed_cluster_sets().api_version()},
                                {"kind", "ManagedClusterSet"},
                                {"metadata", {{"name", name}}}});
    ASSERT_TRUE(made) << made.error().message;
  }
  static void put_cluster(const std::string& name, const std::string& set, bool accepted, const Json& conditions) {
    Json cluster{{"apiVersion", api::managed_clusters().api_version()},
                 {"kind", "ManagedCluster"},
                 {"metadata", {{"name", name}, {"labels", {{"tier", accepted ? "gold" : "tin"}}}}},
                 {"spec", {{"hubAcceptsClient", accepted}}}};
    if (!set.empty()) cluster["metadata"]["labels"][std::string(api::kClusterSetLabel)] = set;
    if (!conditions.empty()) cluster["status"] = {{"conditions", conditions}};
    const auto made = lab->put(std::move(cluster));
    ASSERT_TRUE(made) << made.error().message;
  }
  static Json condition(std::string_view type, std::string_view status) {
    return {
        {"type", type}, {"status", status}, {"reason", "Test"}, {"message", ""}, {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
  }

  // Of the narrow columns, ages apart: they are told by two clocks.
  static Rows of_objects(const std::string& selector) {
    Rows rows;
    const auto view = commands::cluster_view();
    kube::ListOptions options;
    options.label_selector = selector;
    const Status listed = lab->client().list_each(api::managed_clusters(), "", options, [&](const Json& object) -> Status {
      auto cells = view.row(object, {});
      cells.resize(5);
      rows.push_back(std::move(cells));
      return {};
    });
    EXPECT_TRUE(listed) << listed.error().message;
    return rows;
  }
  // One cluster is a page: more than one come from the server's table.
  static std::optional<Rows> of_table(const std::string& selector) {
    auto rows = commands::narrow_clusters(lab->client(), selector, {}, 1);
    EXPECT_TRUE(rows) << rows.error().message;
    return rows ? std::move(*rows) : std::nullopt;
  }
  static Rows printed(const std::string& selector) {
    Rows rows;
    auto found = of_table(selector);
    EXPECT_TRUE(found);
    if (!found) return rows;
    for (auto& row : *found) {
      EXPECT_EQ(row.size(), commands::cluster_view().columns.size());
      const std::string age = row.at(5);
      EXPECT_TRUE(!age.empty() && std::isdigit(static_cast<unsigned char>(age.front())) != 0) << age;
      row.resize(5);
      rows.push_back(std::move(row));
    }
    return rows;
  }

  static std::unique_ptr<PlacementLab> lab;
};
std::unique_ptr<PlacementLab> ClusterTable::lab;

TEST_F(ClusterTable, IsWhatTheObjectsSay) {
  for (const char* name : {"eu", "us", "empty"}) put_set(name);
  put_cluster("c3", "eu", true,
              Json::array({condition(api::kConditionJoined, "True"), condition(api::kConditionAvailable, "Unknown")}));
  put_cluster("c1", "us", true, Json::array({condition(api::kConditionJoined, "True")}));
  put_cluster("c2", "", false, Json::array());
  put_cluster("c10", "eu", false, Json::array({condition(api::kConditionAvailable, "False")}));
  const Rows rows = printed("");
  EXPECT_EQ(rows, of_objects(""));
  EXPECT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows.at(0), (std::vector<std::string>{"c1", "true", "True", "<none>", "us"}));
  EXPECT_EQ(printed("tier=gold"), of_objects("tier=gold"));
  const std::string of_set = std::string(api::kClusterSetLabel) + "=eu";
  EXPECT_EQ(printed(of_set), of_objects(of_set));
  EXPECT_EQ(of_table("tier=none"), Rows());
  auto page = commands::narrow_clusters(lab->client(), "", {});
  ASSERT_TRUE(page && *page);
  for (auto& row : **page) row.resize(5);
  EXPECT_EQ(**page, rows) << "one page";
}

TEST_F(ClusterTable, LeavesTheLabelOfAMissingSetToTheObjects) {
  put_cluster("stray", "gone", true, Json::array());
  EXPECT_FALSE(of_table(""));
  EXPECT_TRUE(of_table("tier=tin")) << "it is not asked for";
}

TEST_F(ClusterTable, AWrongSelectorIsAnError) {
  const auto rows = commands::narrow_clusters(lab->client(), "a b c", {});
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, 400);
}

}  // namespace
}  // namespace fleetadm::testkit
