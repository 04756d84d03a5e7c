// get RESOURCE --clusters …, against a hub and members in memory.
#include <atomic>
#include <gtest/gtest.h>

#include "commands/get/get.h"
#include "commands/get/member_rows.h"
#include "core/api/gateway.h"
#include "core/api/kinds.h"
#include "tests/support/fake_context.h"
#include "tests/support/fake_gateway.h"

namespace fleetadm::commands {
namespace {

using testkit::FakeApi;
using testkit::FakeGateway;
using MemberFlags = std::vector<std::pair<std::string, std::string>>;

void serve_types(FakeApi& api, const std::string& plural, const std::string& kind) {
  const auto answer = [](const std::string& items) {
    return kube::Response{200,
                          {{"content-type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}},
                          R"({"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[)" + items + "]}"};
  };
  api.route("/api", answer(R"({"metadata":{},"versions":[{"version":"v1","freshness":"Current","resources":[
      {"resource":"pods","responseKind":{"group":"","version":"v1","kind":"Pod"},"scope":"Namespaced","singularResource":"pod",
       "verbs":["get","list"],"shortNames":["po"]}]}]})"));
  if (plural.empty()) return api.route("/apis", answer(""));
  api.route("/apis", answer(R"({"metadata":{"name":"example.com"},"versions":[{"version":"v1","freshness":"Current","resources":[
      {"resource":")" + plural +
                            R"(","responseKind":{"group":"example.com","version":"v1","kind":")" + kind +
                            R"("},"scope":"Namespaced","singularResource":"","verbs":["get","list"]}]}]})"));
}

class MemberGet : public testing::Test {
 protected:
  void SetUp() override {
    register_get(registry);
    serve_types(*hub, "", "");
    hub->put(kube::resources::config_maps(),
             {{"metadata", {{"name", std::string(api::kGatewayConfigMap)}, {"namespace", std::string(api::kHubNamespace)}}},
              {"data", {{"server", "https://gateway:1"}, {"ca.crt", "PEM"}}}});
    context.connect = [this](const kube::RestConfig& to) {
      EXPECT_EQ(to.server, "https://gateway:1");
      return kube::Client(gateway, std::make_shared<kube::WriteGate>(), "gateway");
    };
  }
  FakeApi& member(const std::string& name, const Json& labels = Json::object()) {
    hub->put(api::managed_clusters(), {{"metadata", {{"name", name}, {"labels", labels}}}});
    FakeApi& api = gateway->add(name);
    serve_types(api, "", "");
    return api;
  }
  static void pod(FakeApi& api, const std::string& name, const std::string& ns = "default") {
    api.put(kube::resources::pods(),
            {{"metadata", {{"name", name}, {"namespace", ns}, {"labels", {{"app", name}}}, {"managedFields", Json::array()}}}});
  }
  Result<Report> get(const std::vector<std::string>& args, const MemberFlags& flags) {
    return testkit::run_command(registry, "get", context, flags, args);
  }
  static std::vector<std::string> first_cells(const Report& report, std::size_t count = 2) {
    std::vector<std::string> lines;
    for (const auto& row : report.table->rows) {
      std::string line;
      for (std::size_t i = 0; i < count; ++i) line += (i == 0 ? "" : " ") + row[i];
      lines.push_back(line);
    }
    return lines;
  }

  std::shared_ptr<FakeApi> hub = FakeApi::make();
  std::shared_ptr<FakeGateway> gateway = std::make_shared<FakeGateway>();
  Registry registry;
  testkit::FakeContext context{hub->client()};
};

TEST_F(MemberGet, RowsAreInTheOrderOfClustersWithTheClusterInFront) {
  for (const char* name : {"c2", "c1", "c3"}) pod(member(name), std::string("of-") + name);
  const auto report = get({"po"}, {{"all-clusters", "true"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(first_cells(*report), (std::vector<std::string>{"c1 of-c1", "c2 of-c2", "c3 of-c3"}));
  EXPECT_EQ(report->names.front(), "c1/pod/of-c1");
  EXPECT_EQ(report->exit_code, 0);
  EXPECT_TRUE(report->failures.empty());
  EXPECT_TRUE(report->data.is_null());
  EXPECT_EQ(gateway->asked().size(), 3U) << "the hub knew the type: no member was asked for it";
}

TEST_F(MemberGet, ShowsTheColumnsOfTheServersAndMatchesThemByName) {
  member("c1");
  member("c2");
  gateway->on_request([](const std::string& cluster, const kube::Request& request) -> std::optional<kube::Response> {
    EXPECT_TRUE(request.accept.starts_with("application/json;as=Table"));
    const char* c1 = R"({"kind":"Table","columnDefinitions":[{"name":"Name"},{"name":"Ready"},{"name":"IP","priority":1}],
      "rows":[{"cells":["a","1/1","10.0.0.1"],"object":{"metadata":{"name":"a"}}}]})";
    const char* c2 = R"({"kind":"Table","columnDefinitions":[{"name":"Name"},{"name":"Phase"},{"name":"Ready"}],
      "rows":[{"cells":["b","Up",null],"object":{"metadata":{"name":"b"}}}]})";
    return kube::Response{200, {}, cluster == "c1" ? c1 : c2};
  });
  const auto report = get({"pods"}, {{"all-clusters", "true"}});
  ASSERT_TRUE(report) << report.error().message;
  std::vector<std::string> columns;
  for (const Column& column : report->table->columns) columns.push_back(column.name + (column.wide ? "*" : ""));
  EXPECT_EQ(columns, (std::vector<std::string>{"CLUSTER", "NAME", "READY", "IP*", "PHASE"}));
  EXPECT_EQ(report->table->rows,
            (std::vector<std::vector<std::string>>{{"c1", "a", "1/1", "10.0.0.1", ""}, {"c2", "b", "", "", "Up"}}));
}

TEST_F(MemberGet, PagesAreFollowedAndBegunAgainWhenTheyExpire) {
  FakeApi& api = member("c1");
  for (int i = 0; i < 1200; ++i) pod(api, "p" + std::to_string(i));
  bool expired = false;
  gateway->on_request([&](const std::string&, const kube::Request& request) -> std::optional<kube::Response> {
    for (const auto& [key, value] : request.query)
      if (key == "continue" && !std::exchange(expired, true)) return FakeGateway::refusal(410, "Expired", "too old");
    return std::nullopt;
  });
  const auto report = get({"pods"}, {{"clusters", "c1"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->table->rows.size(), 1200U);
  EXPECT_EQ(gateway->asked().size(), 1U + 1U + 3U) << "one page, its expired successor, and three pages";
}

TEST_F(MemberGet, ClustersThatDoNotAnswerAreNamedAndTheCodeIsPartial) {
  pod(member("c1"), "web");
  member("c2");
  member("c3");
  gateway->silence("c3");
  hub->put(api::managed_clusters(), {{"metadata", {{"name", "c4"}}}});  // no tunnel
  const auto report = get({"pods"}, {{"all-clusters", "true"}, {"cluster-timeout", "200ms"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->exit_code, kPartialExitCode);
  EXPECT_EQ(first_cells(*report), std::vector<std::string>{"c1 web"});
  ASSERT_EQ(report->failures.size(), 2U);
  EXPECT_EQ(report->failures[0].cluster, "c3");
  EXPECT_EQ(report->failures[0].category, Category::kTimeout);
  EXPECT_EQ(report->failures[1].cluster, "c4");
  EXPECT_EQ(report->failures[1].code, 503);
  ASSERT_EQ(report->notes.size(), 1U);
  EXPECT_EQ(report->notes.front(), "Nothing was read from 2 of 4 clusters: c3, c4");
}

TEST_F(MemberGet, AClusterWithoutObjectsHasAnsweredToo) {
  member("c1");
  hub->put(api::managed_clusters(), {{"metadata", {{"name", "c2"}}}});
  const auto report = get({"pods"}, {{"all-clusters", "true"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->table->rows.empty());
  EXPECT_EQ(report->exit_code, kPartialExitCode);
}

TEST_F(MemberGet, DocumentsAreTheObjectsWithTheirCluster) {
  pod(member("c1"), "web");
  pod(member("c2"), "web");
  context.globals.output = "json";
  auto report = get({"pods"}, {{"clusters", "c1"}, {"clusters", "c2"}});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(list_at(report->data, {"items"}).size(), 2U);
  const Json& second = report->data["items"][1];
  EXPECT_EQ(str(second, {"kind"}), "Pod");
  EXPECT_EQ(str(second, {"metadata", "annotations", "open-cluster-management.io/cluster-name"}), "c2");
  EXPECT_EQ(find(second, {"metadata", "managedFields"}), nullptr);

  report = get({"pod/web"}, {{"clusters", "c2"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(str(report->data, {"kind"}), "Pod") << "one object of one cluster is no list";
}

TEST_F(MemberGet, NamespacesAndSelectorsAreTheMembers) {
  FakeApi& api = member("c1");
  pod(api, "web");
  pod(api, "db", "other");
  context.config.default_namespace = "of-the-hub";
  auto report = get({"pods"}, {{"clusters", "c1"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(first_cells(*report), std::vector<std::string>{"c1 web"}) << "\"default\", not the namespace of the hub's context";
  context.globals.config.ns = "other";
  report = get({"pods"}, {{"clusters", "c1"}});
  ASSERT_TRUE(report);
  EXPECT_EQ(first_cells(*report), std::vector<std::string>{"c1 db"});
  report = get({"pods"}, {{"clusters", "c1"}, {"all-namespaces", "true"}, {"selector", "app=web"}});
  ASSERT_TRUE(report);
  EXPECT_EQ(first_cells(*report, 3), std::vector<std::string>{"c1 default web"});
}

TEST_F(MemberGet, AMissingNameIsAFailureOfItsClusterAlone) {
  FakeApi& api = member("c1");
  pod(api, "web");
  pod(api, "db");
  pod(member("c2"), "db");
  const auto report = get({"pods", "web", "db"}, {{"all-clusters", "true"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(first_cells(*report), (std::vector<std::string>{"c1 web", "c1 db", "c2 db"}));
  ASSERT_EQ(report->failures.size(), 1U);
  EXPECT_EQ(report->failures.front().cluster, "c2");
  EXPECT_EQ(report->failures.front().category, Category::kNotFound);
  EXPECT_EQ(report->exit_code, kPartialExitCode);
  EXPECT_TRUE(report->notes.empty()) << "c2 has answered";
}

TEST_F(MemberGet, ATypeThatOnlyMembersHaveIsLookedUpThere) {
  const kube::Resource widgets{"example.com", "v1", "widgets", "Widget", true};
  for (const char* name : {"c1", "c2", "c3"}) {
    FakeApi& api = member(name);
    if (std::string(name) == "c1") {
      api.on_request([](const testkit::ApiCall& call) -> std::optional<kube::Response> {
        if (call.plural != "widgets") return std::nullopt;
        return kube::Response{404, {}, "404 page not found"};
      });
      continue;
    }
    serve_types(api, "widgets", "Widget");
    api.put(widgets, {{"metadata", {{"name", "w"}, {"namespace", "default"}}}});
  }
  const auto report = get({"widgets"}, {{"all-clusters", "true"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(first_cells(*report), (std::vector<std::string>{"c2 w", "c3 w"}));
  ASSERT_EQ(report->failures.size(), 1U);
  EXPECT_EQ(report->failures.front().cluster, "c1");
  EXPECT_NE(report->failures.front().message.find("does not have a resource type \"widgets\""), std::string::npos)
      << report->failures.front().message;
  EXPECT_EQ(report->exit_code, kPartialExitCode);
}

TEST_F(MemberGet, ClustersAreChosenByNameAndLabel) {
  pod(member("c1", {{"region", "eu"}}), "web");
  pod(member("c2", {{"region", "us"}}), "web");
  auto report = get({"pods"}, {{"cluster-selector", "region=us"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(first_cells(*report), std::vector<std::string>{"c2 web"});
  report = get({"pods"}, {{"clusters", "c1"}, {"clusters", "c9"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->exit_code, kPartialExitCode);
  ASSERT_EQ(report->failures.size(), 1U);
  EXPECT_NE(report->failures.front().message.find("c9"), std::string::npos);
  EXPECT_FALSE(get({"pods"}, {{"clusters", "c1"}, {"all-clusters", "true"}}));
  EXPECT_FALSE(get({"pods"}, {{"clusters", "../c1"}}));
  report = get({"pods"}, {{"cluster-selector", "region=moon"}});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().category, Category::kNotFound);
}

TEST_F(MemberGet, AWatchShowsWhatChangesAndOnWhichCluster) {
  FakeApi& c1 = member("c1");
  FakeApi& c2 = member("c2");
  pod(c1, "web");
  pod(c2, "db");
  context.on_emit = [&] {
    switch (context.emitted.size()) {
      case 1: return pod(c2, "new");
      case 2: return static_cast<void>(c1.erase(kube::resources::pods(), "default", "web"));
      case 3: return pod(c2, "db");
      default: context.stopper.request_stop();
    }
  };
  const auto report = get({"pods"}, {{"all-clusters", "true"}, {"watch", "true"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->exit_code, 2);
  ASSERT_EQ(context.emitted.size(), 4U);
  EXPECT_EQ(first_cells(context.emitted[0]), (std::vector<std::string>{"c1 web", "c2 db"}));
  EXPECT_EQ(context.emitted[0].event, Report::Event::kAdded);
  EXPECT_EQ(first_cells(context.emitted[1]), std::vector<std::string>{"c2 new"});
  EXPECT_EQ(context.emitted[1].event, Report::Event::kAdded);
  EXPECT_EQ(first_cells(context.emitted[2]), std::vector<std::string>{"c1 web"});
  EXPECT_EQ(context.emitted[2].event, Report::Event::kDeleted);
  EXPECT_EQ(first_cells(context.emitted[3]), std::vector<std::string>{"c2 db"});
  EXPECT_EQ(context.emitted[3].event, Report::Event::kModified);
}

TEST_F(MemberGet, AWatchSurvivesAnExpiredVersionAndWaitsForAClusterThatIsAway) {
  FakeApi& c1 = member("c1");
  pod(member("c2"), "late");
  pod(c1, "web");
  std::atomic<bool> away = true;
  gateway->on_request([&](const std::string& cluster, const kube::Request&) -> std::optional<kube::Response> {
    if (cluster != "c2" || !away) return std::nullopt;
    return FakeGateway::refusal(503, "ServiceUnavailable", "no tunnel");
  });
  context.on_emit = [&] {
    switch (context.emitted.size()) {
      case 1: away = false; return;
      case 2:
        c1.expire_history();
        c1.erase(kube::resources::pods(), "default", "web");
        return;
      default: context.stopper.request_stop();
    }
  };
  const auto report = get({"pods"}, {{"all-clusters", "true"}, {"watch-only", "true"}});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(context.emitted.size(), 3U);
  ASSERT_EQ(context.emitted[0].failures.size(), 1U);
  EXPECT_EQ(context.emitted[0].failures.front().cluster, "c2");
  EXPECT_FALSE(context.emitted[0].table) << "what is there already is not asked for";
  EXPECT_EQ(first_cells(context.emitted[1]), std::vector<std::string>{"c2 late"});
  EXPECT_EQ(first_cells(context.emitted[2]), std::vector<std::string>{"c1 web"});
  EXPECT_EQ(context.emitted[2].event, Report::Event::kDeleted);
}

TEST_F(MemberGet, AWatchOfANameSelectsItAndTakesOneAlone) {
  FakeApi& c1 = member("c1");
  pod(c1, "web");
  pod(c1, "db");
  context.on_emit = [&] { context.stopper.request_stop(); };
  const auto report = get({"pods", "web"}, {{"clusters", "c1"}, {"watch", "true"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(first_cells(context.emitted.front()), std::vector<std::string>{"c1 web"});
  EXPECT_EQ(get({"pods", "web", "db"}, {{"clusters", "c1"}, {"watch", "true"}}).error().category, Category::kUsage);
}

TEST(MemberRowsTest, TheTableOfAnEventHasTheColumnsOfTheList) {
  MemberRows rows;
  ASSERT_TRUE(rows.add(*parse_json(R"({"kind":"Table","metadata":{"resourceVersion":"7"},"columnDefinitions":[{"name":"Name"}],
    "rows":[{"cells":["a"],"object":{"metadata":{"name":"a"}}}]})"),
                       kube::resources::pods(), {}));
  EXPECT_EQ(rows.version(), "7");
  rows.forget_rows();
  ASSERT_TRUE(rows.add(*parse_json(R"({"kind":"Table","rows":[{"cells":["b"],"object":{"metadata":{"name":"b"}}}]})"),
                       kube::resources::pods(), {}));
  ASSERT_EQ(rows.rows().size(), 1U);
  EXPECT_EQ(rows.rows().front().cells, std::vector<std::string>{"b"});
  MemberRows none;
  EXPECT_FALSE(none.add(*parse_json(R"({"kind":"Table","rows":[{"cells":["b"]}]})"), kube::resources::pods(), {}));
  EXPECT_FALSE(none.add(Json::object(), kube::resources::pods(), {}));
}

TEST_F(MemberGet, WithoutAGatewayItSaysHowToGetOne) {
  member("c1");
  hub->erase(kube::resources::config_maps(), std::string(api::kHubNamespace), std::string(api::kGatewayConfigMap));
  const auto report = get({"pods"}, {{"clusters", "c1"}});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().category, Category::kNotFound);
  EXPECT_NE(report.error().hint.find("fleetadm init --gateway"), std::string::npos);
}

}  // namespace
}  // namespace fleetadm::commands
