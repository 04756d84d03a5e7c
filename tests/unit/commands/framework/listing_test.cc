// `get` against an API server in memory: names, failures, pages, selectors, watches.
#include "commands/framework/listing.h"

#include <gtest/gtest.h>

#include "commands/events/events.h"
#include "commands/get/get.h"
#include "core/api/kinds.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {
namespace {

class GetTest : public ::testing::Test {
 protected:
  GetTest() : context_(api_->client()) { register_get(registry_); }

  void add(const std::string& name, const std::string& region = "eu") {
    Json cluster = Json::object();
    at_or_make(cluster, {"metadata", "name"}) = name;
    at_or_make(cluster, {"metadata", "labels", "region"}) = region;
    at_or_make(cluster, {"metadata", "managedFields"}) = Json::array({1, 2});
    api_->put(api::managed_clusters(), cluster);
  }
  Result<Report> get(const std::vector<std::string>& names, const std::vector<std::pair<std::string, std::string>>& flags = {}) {
    return testkit::run_command(registry_, "get clusters", context_, flags, names);
  }
  static std::string first_cells(const Report& report) {
    std::string text;
    for (const auto& row : report.table->rows) text += row.front() + " ";
    return text;
  }

  std::shared_ptr<testkit::FakeApi> api_ = testkit::FakeApi::make();
  testkit::FakeContext context_;
  Registry registry_;
};

TEST_F(GetTest, ATableKeepsNoObjects) {
  add("c1");
  add("c2");
  const auto report = get({});
  ASSERT_TRUE(report);
  EXPECT_EQ(first_cells(*report), "c1 c2 ");
  EXPECT_TRUE(report->data.is_null());
}

TEST_F(GetTest, LabelsAreColumns) {
  add("c1");
  const auto report = get({}, {{"label-columns", "region,example.io/tier"}, {"show-labels", "true"}});
  ASSERT_TRUE(report);
  const Table& table = *report->table;
  ASSERT_EQ(table.rows.size(), 1U);
  const std::size_t count = table.columns.size();
  ASSERT_EQ(table.rows.front().size(), count);
  EXPECT_EQ(table.columns[count - 3].name, "REGION");
  EXPECT_EQ(table.columns[count - 2].name, "TIER");
  EXPECT_EQ(table.columns[count - 1].name, "LABELS");
  EXPECT_EQ(table.rows.front()[count - 3], "eu");
  EXPECT_EQ(table.rows.front()[count - 2], "");
  EXPECT_EQ(table.rows.front()[count - 1], "region=eu");
  EXPECT_FALSE(table.columns[count - 1].wide);
}

TEST_F(GetTest, ATreeHasAPathAnObject) {
  add("c1");
  context_.globals.output = "tree";
  const auto report = get({});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->branches, (std::vector<std::vector<std::string>>{{"(no cluster set)", "c1: not accepted"}}));
  EXPECT_TRUE(report->data.is_null());
}

TEST_F(GetTest, ObjectsComeAsAListWithoutManagedFields) {
  add("c1");
  context_.globals.output = "json";
  auto report = get({});
  ASSERT_TRUE(report);
  EXPECT_EQ(str(report->data, {"kind"}), "List");
  ASSERT_EQ(list_at(report->data, {"items"}).size(), 1U);
  EXPECT_EQ(dump_json(report->data).find("managedFields"), std::string::npos);
  report = get({"c1"});
  ASSERT_TRUE(report);
  EXPECT_EQ(str(report->data, {"kind"}), "ManagedCluster");
  context_.globals.output = "name";
  report = get({"c1"});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->names, std::vector<std::string>{"managedcluster.cluster.open-cluster-management.io/c1"});
}

TEST_F(GetTest, MissingNames) {
  add("c1");
  const auto one = get({"nope"});
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().category, Category::kNotFound);
  const auto some = get({"c1", "nope"});
  ASSERT_TRUE(some);
  EXPECT_EQ(first_cells(*some), "c1 ");
  ASSERT_EQ(some->failures.size(), 1U);
  EXPECT_EQ(some->exit_code, 0);  // failures alone make it partial
  const auto none = get({"nope", "nada"});
  ASSERT_TRUE(none);
  EXPECT_EQ(none->failures.size(), 2U);  // nothing but failures: the exit code is theirs
  EXPECT_TRUE(none->table->rows.empty());
}

TEST_F(GetTest, ARefusalIsNotAMissingObject) {
  add("c1");
  api_->fail_next("get", "managedclusters", 403, "Forbidden");
  const auto report = get({"c1", "c2"});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().category, Category::kAuth);
}

TEST_F(GetTest, SelectorsGoToTheServer) {
  add("c1", "eu");
  add("c2", "us");
  const auto report = get({}, {{"selector", "region=us"}});
  ASSERT_TRUE(report);
  EXPECT_EQ(first_cells(*report), "c2 ");
  EXPECT_FALSE(get({"c1"}, {{"selector", "region=us"}}));
}

TEST_F(GetTest, AnUnknownSetIsAMistakeNotAnEmptyList) {
  add("c1");
  const auto report = get({}, {{"clusterset", "nope"}});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().category, Category::kNotFound);
}

TEST_F(GetTest, EventsComeInTheOrderOfTheirTimes) {
  register_events(registry_);
  const auto happened = [&](const std::string& name, const std::string& time) {
    Json event = Json::object();
    at_or_make(event, {"metadata", "name"}) = name;
    at_or_make(event, {"metadata", "namespace"}) = "default";
    at_or_make(event, {"reason"}) = name;
    at_or_make(event, {"lastTimestamp"}) = time;
    api_->put(kube::resources::core_events(), event);
  };
  happened("a", "2026-01-02T00:00:00Z");
  happened("b", "2026-01-01T00:00:00Z");
  happened("c", "2026-01-03T00:00:00Z");
  context_.globals.output = "json";
  context_.stopper.request_stop();
  ASSERT_TRUE(testkit::run_command(registry_, "events", context_, {{"watch", "true"}}, {}));
  ASSERT_EQ(context_.emitted.size(), 1U);
  std::string order;
  for (const auto& row : context_.emitted.front().table->rows) order += row[2];
  EXPECT_EQ(order, "bac");
  order.clear();
  for (const Json& item : list_at(context_.emitted.front().data, {"items"})) {
    order += name_of(item);
    EXPECT_EQ(str(item, {"kind"}), "Event");
    EXPECT_EQ(str(item, {"apiVersion"}), "v1");
  }
  EXPECT_EQ(order, "bac");
}

TEST_F(GetTest, AWatchPrintsWhatChangedAndEndsQuietly) {
  add("c1");
  context_.on_emit = [this] {
    if (context_.emitted.size() == 1) add("c2");
    if (context_.emitted.size() == 2) context_.stopper.request_stop();
  };
  const auto report = get({}, {{"watch", "true"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->exit_code, 2);
  ASSERT_EQ(context_.emitted.size(), 2U);
  EXPECT_EQ(first_cells(context_.emitted[0]), "c1 ");
  EXPECT_EQ(first_cells(context_.emitted[1]), "c2 ");
}

TEST_F(GetTest, AWatchWithoutTheFirstListPrintsChangesAlone) {
  add("c1");
  api_->on_request([this](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (call.verb == "watch" && !api_->get(api::managed_clusters(), "", "c2")) add("c2");
    return std::nullopt;
  });
  context_.on_emit = [this] { context_.stopper.request_stop(); };
  const auto report = get({}, {{"watch-only", "true"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->exit_code, 2);
  ASSERT_EQ(context_.emitted.size(), 1U);
  EXPECT_EQ(first_cells(context_.emitted[0]), "c2 ");
}

}  // namespace
}  // namespace fleetadm::commands
