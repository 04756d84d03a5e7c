#include "commands/placement/placement.h"

#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "core/placement/engine/decode.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

class PlacementCommands : public testing::Test {
 protected:
  void SetUp() override {
    register_placement(registry);
    context.globals.config.ns = "apps";
  }
  Result<Report> run(std::string_view path, const std::vector<std::string>& args, const Flags& flags = {}) {
    return testkit::run_command(registry, path, context, flags, args);
  }
  Json stored(const std::string& name) const { return api->get(api::placements(), "apps", name).value_or(Json()); }
  void set_status(const std::string& name, const char* status) {
    Json object = stored(name);
    object["status"] = *parse_json(status);
    api->put(api::placements(), object);
  }
  void put_decision(const std::string& name, const std::string& index, const std::vector<std::string>& clusters) {
    Json object{{"apiVersion", api::placement_decisions().api_version()},
                {"kind", "PlacementDecision"},
                {"metadata",
                 {{"name", name},
                  {"namespace", "apps"},
                  {"labels", {{std::string(api::kPlacementLabel), "web"}, {std::string(placement::kGroupIndexLabel), index}}}}}};
    object["status"]["decisions"] = Json::array();
    for (const auto& cluster : clusters) object["status"]["decisions"].push_back({{"clusterName", cluster}, {"reason", ""}});
    api->put(api::placement_decisions(), object);
  }

  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make();
  Registry registry;
  testkit::FakeContext context{api->client()};
};

TEST_F(PlacementCommands, CreateWritesReadsBackAndIsANoOpAgain) {
  const Flags flags{{"cluster-count", "2"}, {"label-selector", "env=prod"}};
  auto report = run("placement create", {"web"}, flags);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->lines, std::vector<std::string>{"placement web created"});
  EXPECT_EQ(report->names, std::vector<std::string>{"placement.cluster.open-cluster-management.io/web"});
  EXPECT_EQ(num(stored("web"), {"spec", "numberOfClusters"}), 2);
  ASSERT_EQ(report->notes.size(), 1U) << "nothing is bound to the namespace";
  const int writes = api->write_count();
  report = run("placement create", {"web"}, flags);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->lines, std::vector<std::string>{"placement web unchanged"});
  EXPECT_EQ(api->write_count(), writes);
  report = run("placement create", {"web"}, {{"cluster-count", "3"}});
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().category, Category::kConflict);
  EXPECT_EQ(num(stored("web"), {"spec", "numberOfClusters"}), 2);
}

TEST_F(PlacementCommands, ApplyChangesTheSpec) {
  ASSERT_TRUE(run("placement apply", {"web"}, {{"cluster-count", "2"}}).has_value());
  const auto report = run("placement apply", {"web"}, {{"cluster-count", "3"}});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->lines, std::vector<std::string>{"placement web configured"});
  EXPECT_EQ(num(stored("web"), {"spec", "numberOfClusters"}), 3);
}

TEST_F(PlacementCommands, SpecFromStandardInput) {
  context.screen.input = "numberOfClusters: 4\n";
  ASSERT_TRUE(run("placement create", {"web"}, {{"spec", "-"}}).has_value());
  EXPECT_EQ(num(stored("web"), {"spec", "numberOfClusters"}), 4);
  EXPECT_FALSE(run("placement create", {"web"}, {{"spec", "-"}, {"cluster-count", "1"}}).has_value());
  EXPECT_FALSE(run("placement create", {"web"}, {{"spec", "/nonexistent/file"}}).has_value());
}

TEST_F(PlacementCommands, SuccessIsToldOnlyAfterItWasReadBack) {
  api->on_request([this](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    // Somebody else changes it right after it was written.
    if (call.verb == "get" && !stored("web").is_null()) {
      Json object = stored("web");
      object["spec"]["numberOfClusters"] = 9;
      api->put(api::placements(), object);
    }
    return std::nullopt;
  });
  const auto report = run("placement create", {"web"}, {{"cluster-count", "2"}});
  ASSERT_FALSE(report.has_value());
  EXPECT_NE(report.error().message.find("now has a different"), std::string::npos) << report.error().message;
}

TEST_F(PlacementCommands, BadInputIsUsage) {
  EXPECT_EQ(run("placement create", {"Bad_Name"}).error().category, Category::kUsage);
  EXPECT_EQ(run("placement create", {std::string(64, 'a')}).error().category, Category::kUsage);
  EXPECT_EQ(run("placement create", {"web"}, {{"cluster-count", "-1"}}).error().category, Category::kUsage);
  EXPECT_EQ(run("placement create", {"web"}, {{"toleration", "x:Never"}}).error().category, Category::kUsage);
  EXPECT_EQ(api->write_count(), 0);
}

TEST_F(PlacementCommands, AFieldThatIsUnknownIsTheSpecsFault) {
  api->on_request([](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (call.verb != "patch") return std::nullopt;
    kube::Response response;
    response.status = 500;
    response.body =
        R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"message":"failed to create typed patch object (apps/web; )"
        R"(Placement): .spec.numberOfCluster: field not declared in schema"})";
    return response;
  });
  context.screen.input = "numberOfCluster: 3\n";
  const auto report = run("placement create", {"web"}, {{"spec", "-"}});
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().category, Category::kInvalid);
  EXPECT_NE(report.error().hint.find("kubectl explain"), std::string::npos) << report.error().hint;
}

TEST_F(PlacementCommands, WaitEndsWithTheReason) {
  ASSERT_TRUE(run("placement create", {"web"}).has_value());
  set_status("web", R"({"conditions":[{"type":"PlacementSatisfied","status":"False","reason":"NoIntersection","message":"m"}]})");
  auto report = run("placement create", {"web"}, {{"wait", "satisfied"}, {"timeout", "200ms"}});
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().category, Category::kTimeout);
  EXPECT_EQ(report.error().message, "placement \"web\" is not satisfied after 200ms: NoIntersection: m");
  EXPECT_EQ(report.error().hint, "");
  set_status(
      "web",
      R"({"numberOfSelectedClusters":2,"conditions":[{"type":"PlacementSatisfied","status":"True","reason":"AllDecisionsScheduled","message":""}]})");
  report = run("placement create", {"web"}, {{"wait", "satisfied"}, {"timeout", "10s"}});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->lines, std::vector<std::string>{"placement web unchanged, 2 clusters selected"});
  set_status("web",
             R"({"conditions":[{"type":"PlacementMisconfigured","status":"True","reason":"Misconfigured","message":":x"}]})");
  EXPECT_EQ(run("placement create", {"web"}, {{"wait", "satisfied"}, {"timeout", "10s"}}).error().category, Category::kInvalid);
}

TEST_F(PlacementCommands, AFileNamesItsPlacement) {
  context.screen.input =
      "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: api, namespace: apps, labels: "
      "{a: b}}\n"
      "spec: {numberOfClusters: 4}\n";
  auto report = run("placement apply", {}, {{"spec", "-"}});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->lines, std::vector<std::string>{"placement api created"});
  EXPECT_EQ(label_of(stored("api"), "a"), "b");
  report = run("placement apply", {"api"}, {{"spec", "-"}});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->lines, std::vector<std::string>{"placement api unchanged"});
  EXPECT_EQ(run("placement apply", {"other"}, {{"spec", "-"}}).error().category, Category::kUsage);
  context.globals.config.ns = "elsewhere";
  EXPECT_EQ(run("placement apply", {}, {{"spec", "-"}}).error().category, Category::kUsage);
  context.globals.config.ns = "apps";
  context.screen.input = "numberOfClusters: 1\n";
  EXPECT_EQ(run("placement apply", {}, {{"spec", "-"}}).error().category, Category::kUsage);
  EXPECT_EQ(run("placement apply", {}).error().category, Category::kUsage);
}

TEST_F(PlacementCommands, DescribeShowsEvents) {
  ASSERT_TRUE(
      run("placement create", {"web"}, {{"clusters-per-group", "25%"}, {"decision-group", "canary:tier=canary"}}).has_value());
  const auto put_event = [&](const char* name, const char* involved, const char* time, int count) {
    api->put(kube::resources::core_events(),
             {{"apiVersion", "v1"},
              {"kind", "Event"},
              {"metadata", {{"name", name}, {"namespace", "apps"}}},
              {"type", "Normal"},
              {"reason", "DecisionUpdate"},
              {"message", std::string("told by ") + name},
              {"eventTime", time},
              {"series", {{"count", count}}},
              {"involvedObject", {{"kind", "Placement"}, {"name", involved}, {"uid", uid_of(stored("web"))}}}});
  };
  put_event("late", "web", "2026-03-01T10:00:02.000000Z", 3);
  put_event("early", "web", "2026-03-01T10:00:01.000000Z", 0);
  put_event("foreign", "other", "2026-03-01T10:00:01.000000Z", 0);
  const auto report = run("placement describe", {"web"});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  std::string text;
  for (const auto& line : report->lines) text += line + "\n";
  EXPECT_LT(text.find("told by early"), text.find("told by late")) << text;
  EXPECT_NE(text.find("DecisionUpdate (3 times), told by late"), std::string::npos) << text;
  EXPECT_EQ(text.find("foreign"), std::string::npos) << text;
  EXPECT_NE(text.find("25%"), std::string::npos) << text;
  EXPECT_NE(text.find("canary: labels tier=canary"), std::string::npos) << text;
  EXPECT_EQ(list_at(report->data, {"events"}).size(), 2U);
  api->fail_next("list", "events", 403, "Forbidden");
  EXPECT_TRUE(run("placement describe", {"web"}).has_value()) << "events are not worth failing for";
  EXPECT_EQ(run("placement describe", {"wbe"}).error().hint, "did you mean \"web\"?");
}

TEST_F(PlacementCommands, DescribeShowsRulesConditionsAndDecisions) {
  ASSERT_TRUE(
      run("placement create", {"web"}, {{"cluster-count", "3"}, {"label-selector", "env=prod"}, {"toleration", "gpu::30s"}})
          .has_value());
  put_decision("web-decision-10", "1", {"c2"});
  put_decision("web-decision-9", "0", {"c9", "c1"});
  set_status(
      "web",
      R"({"numberOfSelectedClusters":3,"conditions":[{"type":"PlacementSatisfied","status":"True","reason":"AllDecisionsScheduled",
      "message":"All cluster decisions scheduled","lastTransitionTime":"2026-03-01T10:00:00Z"}]})");
  const auto report = run("placement describe", {"web"});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  std::string text;
  for (const auto& line : report->lines) text += line + "\n";
  EXPECT_NE(text.find("labels env=prod"), std::string::npos) << text;
  EXPECT_NE(text.find("gpu for 30s"), std::string::npos) << text;
  EXPECT_NE(text.find("PlacementSatisfied is True"), std::string::npos) << text;
  EXPECT_LT(text.find("    c9"), text.find("    c2")) << "groups in the order of their indexes\n" << text;
  EXPECT_EQ(list_at(report->data, {"decisionGroups"}).size(), 2U);
}

TEST_F(PlacementCommands, DeleteIsANoOpTheSecondTime) {
  ASSERT_TRUE(run("placement create", {"web"}).has_value());
  auto report = run("placement delete", {"web"});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->lines, std::vector<std::string>{"placement web deleted"});
  EXPECT_TRUE(stored("web").is_null());
  report = run("placement delete", {"web"});
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->lines, std::vector<std::string>{"placement web not found (nothing to delete)"});
}

TEST_F(PlacementCommands, DryRunSendsNothingThatWrites) {
  ASSERT_TRUE(run("placement create", {"old"}).has_value());
  auto gate = std::make_shared<kube::WriteGate>();
  gate->dry_run = kube::DryRun::kClient;
  testkit::FakeContext dry(api->client(gate));
  dry.globals.config.ns = "apps";
  const int writes = api->write_count();
  const auto run_dry = [&](std::string_view path, const std::string& name, const Flags& flags = {}) {
    const auto report = testkit::run_command(registry, path, dry, flags, {name});
    return report ? report->lines.front() : report.error().message;
  };
  EXPECT_EQ(run_dry("placement create", "web", {{"wait", "satisfied"}}), "placement web created (dry run)");
  EXPECT_EQ(run_dry("placement apply", "old", {{"cluster-count", "1"}}), "placement old configured (dry run)");
  EXPECT_EQ(run_dry("placement delete", "old"), "placement old deleted (dry run)");
  EXPECT_EQ(api->write_count(), writes);
}

}  // namespace
}  // namespace fleetadm::commands
