#include "commands/score/score.h"

#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "core/placement/engine/score.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"
#include "tests/support/vectors.h"

namespace fleetadm::commands {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

class ScoreCommands : public testing::Test {
 protected:
  void SetUp() override {
    register_score(registry);
    for (const char* name : {"c1", "c2"}) {
      api->put(
          api::managed_clusters(),
          {{"apiVersion", api::managed_clusters().api_version()}, {"kind", "ManagedCluster"}, {"metadata", {{"name", name}}}});
    }
  }
  Result<Report> set(const std::vector<std::string>& args, const Flags& flags) {
    return testkit::run_command(registry, "score set", context, flags, args);
  }
  Result<Report> get(const std::vector<std::string>& args, const Flags& flags = {}) {
    return testkit::run_command(registry, "score get", context, flags, args);
  }
  Json stored(const std::string& cluster, const std::string& name) const {
    return api->get(api::addon_placement_scores(), cluster, name).value_or(Json());
  }
  std::map<std::string, std::int64_t> items(const std::string& cluster, const std::string& name) const {
    std::map<std::string, std::int64_t> out;
    for (const Json& one : list_at(stored(cluster, name), {"status", "scores"})) out[str(one, {"name"})] = num(one, {"value"});
    return out;
  }

  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(*parse_time("2026-03-01T10:00:00Z"));
  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make(clock);
  Registry registry;
  testkit::FakeContext context{api->client(), clock};
};

TEST_F(ScoreCommands, SetCreatesThenChangesTheStatus) {
  auto report = set({"load", "cpu=40", "disk=-100"}, {{"cluster", "c1"}, {"valid-for", "15m"}});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->lines, std::vector<std::string>{"addonplacementscore load created for cluster c1"});
  EXPECT_EQ(items("c1", "load"), (std::map<std::string, std::int64_t>{{"cpu", 40}, {"disk", -100}}));
  EXPECT_EQ(str(stored("c1", "load"), {"status", "validUntil"}), "2026-03-01T10:15:00Z");
  EXPECT_EQ(api->count("patch", "addonplacementscores"), 1);

  report = set({"load", "cpu=50", "disk-"}, {{"cluster", "c1"}, {"valid-until", "2026-03-01T12:00:00+01:00"}});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->lines, std::vector<std::string>{"addonplacementscore load set for cluster c1"});
  EXPECT_EQ(items("c1", "load"), (std::map<std::string, std::int64_t>{{"cpu", 50}}));
  EXPECT_EQ(str(stored("c1", "load"), {"status", "validUntil"}), "2026-03-01T11:00:00Z");

  ASSERT_TRUE(set({"load", "memory=1"}, {{"cluster", "c1"}}).has_value());
  EXPECT_EQ(items("c1", "load").size(), 2U) << "what is not named stays";
  EXPECT_EQ(str(stored("c1", "load"), {"status", "validUntil"}), "") << "without a limit they count always";
  const int writes = api->write_count();
  report = set({"load", "memory=1"}, {{"cluster", "c1"}});
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->lines, std::vector<std::string>{"addonplacementscore load unchanged for cluster c1"});
  EXPECT_EQ(api->write_count(), writes);
}

TEST_F(ScoreCommands, ValuesAreNormalized) {
  ASSERT_TRUE(
      set({"capacity", "memory=48Gi", "half=0.5Gi", "none=-3"}, {{"cluster", "c1"}, {"min", "0"}, {"max", "64Gi"}}).has_value());
  EXPECT_EQ(items("c1", "capacity"), (std::map<std::string, std::int64_t>{{"half", -98}, {"memory", 50}, {"none", -100}}));
}

TEST_F(ScoreCommands, WrongInputIsSaidBeforeAnythingIsWritten) {
  const auto category = [&](const std::vector<std::string>& args, const Flags& flags) {
    const auto report = set(args, flags);
    return report ? Category::kInternal : report.error().category;
  };
  EXPECT_EQ(category({"load", "cpu=101"}, {{"cluster", "c1"}}), Category::kUsage);
  EXPECT_EQ(category({"load", "cpu=1.5"}, {{"cluster", "c1"}}), Category::kUsage);
  EXPECT_EQ(category({"load", "cpu=nan"}, {{"cluster", "c1"}, {"min", "0"}, {"max", "1"}}), Category::kUsage);
  EXPECT_EQ(category({"load", "cpu"}, {{"cluster", "c1"}}), Category::kUsage);
  EXPECT_EQ(category({"load", "cpu=1", "cpu=2"}, {{"cluster", "c1"}}), Category::kUsage);
  EXPECT_EQ(category({"load", "cpu=1"}, {}), Category::kUsage);
  EXPECT_EQ(category({"load"}, {{"cluster", "c1"}}), Category::kUsage);
  EXPECT_EQ(category({"load", "cpu=1"}, {{"cluster", "c1"}, {"min", "0"}}), Category::kUsage);
  EXPECT_EQ(category({"load", "cpu=1"}, {{"cluster", "c1"}, {"min", "2"}, {"max", "1"}}), Category::kUsage);
  EXPECT_EQ(category({"load", "cpu=1"}, {{"cluster", "c1"}, {"valid-for", "1m"}, {"valid-until", "2026-03-01T10:00:00Z"}}),
            Category::kUsage);
  EXPECT_EQ(category({"load", "cpu=1"}, {{"cluster", "c1"}, {"valid-until", "tomorrow"}}), Category::kUsage);
  EXPECT_EQ(category({"load", "cpu=1"}, {{"cluster", "c1"}, {"valid-for", "0s"}}), Category::kUsage);
  EXPECT_EQ(category({"load", "cpu=1"}, {{"cluster", "c1"}, {"valid-for", "-5m"}}), Category::kUsage);
  EXPECT_EQ(category({"load", "cpu=1", "cpu-"}, {{"cluster", "c1"}}), Category::kUsage);
  EXPECT_EQ(category({"load", "cpu=1"}, {{"cluster", "c3"}}), Category::kNotFound);
  EXPECT_EQ(set({"load", "cpu=1"}, {{"cluster", "c3"}}).error().hint, "did you mean \"c1\" or \"c2\"?");
  EXPECT_EQ(api->write_count(), 0);
}

TEST_F(ScoreCommands, ValidityOfAnyLengthAndForm) {
  ASSERT_TRUE(set({"load", "cpu=1"}, {{"cluster", "c1"}, {"valid-for", "2562047h"}}).has_value());
  EXPECT_EQ(str(stored("c1", "load"), {"status", "validUntil"}).substr(0, 4), "2262")
      << "292 years from now are beyond all times";
  context.screen.input =
      "apiVersion: cluster.open-cluster-management.io/v1alpha1\nkind: AddOnPlacementScore\nmetadata: {name: load, namespace: "
      "c1}\nstatus: {validUntil: \"2026-03-01t11:00:00+01:00\", scores: [{name: cpu, value: 7}]}\n";
  const auto report = set({}, {{"filename", "-"}});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(str(stored("c1", "load"), {"status", "validUntil"}), "2026-03-01T10:00:00Z");
}

TEST_F(ScoreCommands, AMissingRightIsNamed) {
  api->fail_next("patch", "addonplacementscores", 403, "Forbidden");
  const auto report = set({"load", "cpu=1"}, {{"cluster", "c1"}});
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().category, Category::kAuth);
  EXPECT_NE(report.error().hint.find("addonplacementscores/status"), std::string::npos) << report.error().hint;
  // Who may not read clusters may still write scores.
  api->fail_next("get", "managedclusters", 403, "Forbidden");
  EXPECT_TRUE(set({"load", "cpu=1"}, {{"cluster", "c1"}}).has_value());
}

TEST_F(ScoreCommands, FilesReplaceAndFailuresArePartial) {
  ASSERT_TRUE(set({"load", "old=1"}, {{"cluster", "c1"}}).has_value());
  context.screen.input =
      "apiVersion: cluster.open-cluster-management.io/v1alpha1\nkind: AddOnPlacementScore\nmetadata: {name: load, namespace: "
      "c1}\n"
      "status: {scores: [{name: cpu, value: 7}]}\n---\n"
      "apiVersion: cluster.open-cluster-management.io/v1alpha1\nkind: AddOnPlacementScore\nmetadata: {name: load, namespace: "
      "c9}\n"
      "status: {scores: [{name: cpu, value: 7}]}\n";
  const auto report = set({}, {{"filename", "-"}});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(items("c1", "load"), (std::map<std::string, std::int64_t>{{"cpu", 7}}));
  ASSERT_EQ(report->failures.size(), 1U);
  EXPECT_EQ(report->failures.front().cluster, "c9");
  context.screen.input = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n";
  EXPECT_EQ(set({}, {{"filename", "-"}}).error().category, Category::kInvalid);
}

TEST_F(ScoreCommands, DryRunSendsNothingThatWrites) {
  auto gate = std::make_shared<kube::WriteGate>();
  gate->dry_run = kube::DryRun::kClient;
  testkit::FakeContext dry(api->client(gate), clock);
  ASSERT_TRUE(set({"old", "cpu=1"}, {{"cluster", "c1"}}).has_value());
  const int writes = api->write_count();
  for (const char* name : {"new", "old"}) {
    const auto report = testkit::run_command(registry, "score set", dry, {{"cluster", "c1"}}, {name, "cpu=2"});
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_EQ(num(list_at(report->data, {"status", "scores"}).at(0), {"value"}), 2);
  }
  EXPECT_EQ(api->write_count(), writes);
}

TEST_F(ScoreCommands, GetShowsARowAScoreAndItsValidity) {
  ASSERT_TRUE(set({"load", "cpu=40", "disk=1"}, {{"cluster", "c1"}, {"valid-for", "10m"}}).has_value());
  ASSERT_TRUE(set({"load", "cpu=2"}, {{"cluster", "c2"}, {"valid-for", "1m"}}).has_value());
  ASSERT_TRUE(set({"other", "x=3"}, {{"cluster", "c2"}}).has_value());
  clock->advance(std::chrono::minutes(5));
  auto report = get({"load"});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  const std::vector<std::vector<std::string>> rows = {
      {"c1", "load", "cpu", "40", "until 2026-03-01T10:10:00Z (5m)"},
      {"c1", "load", "disk", "1", "until 2026-03-01T10:10:00Z (5m)"},
      {"c2", "load", "cpu", "2", "expired 4m ago"},
  };
  EXPECT_EQ(report->table->rows, rows);
  EXPECT_EQ(list_at(report->data, {"items"}).size(), 2U);
  report = get({}, {{"cluster", "c2"}});
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->table->rows.size(), 2U);
  EXPECT_EQ(report->table->rows.back().back(), "always");
  EXPECT_EQ(get({"laod"}).error().hint, "did you mean \"load\"?");
  EXPECT_EQ(get({}, {{"cluster", "c7"}}).error().category, Category::kNotFound);
}

TEST(ScoreNormalization, IsUpstreams) {
  EXPECT_EQ(placement::normalize_score(5, 0, 10), 0);
  EXPECT_EQ(placement::normalize_score(0, 0, 0), -100);
  EXPECT_EQ(placement::normalize_score(1, 0, 0), 100);
  EXPECT_EQ(placement::normalize_score(0, -1.7e308, 1.7e308), 0);
  int count = 0;
  const Status read = test::for_each_vector("hashes.jsonl.gz", [&](const Json& line) {
    if (str(line, {"kind"}) != "normalize") return;
    ++count;
    const auto figure = [&](std::string_view member) {
      const Json* value = find(line, {member});
      return value == nullptr || !value->is_number() ? 0.0 : value->get<double>();
    };
    EXPECT_EQ(placement::normalize_score(figure("value"), figure("min"), figure("max")), num(line, {"expect", "score"}))
        << dump_json(line);
  });
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_GE(count, 90);
}

}  // namespace
}  // namespace fleetadm::commands
