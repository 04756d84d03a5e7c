// A hub in memory: clusters c1 to c3, c1 and c2 in set prod, which is bound to namespace apps; the placement apps/web selects
// both, and the ManifestWorkReplicaSet apps/web has a work on each.
#pragma once

#include <gtest/gtest.h>

#include "commands/framework/command.h"
#include "core/api/kinds.h"
#include "core/work/rules/names.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {

class GuardedHub : public testing::Test {
 protected:
  using Flags = std::vector<std::pair<std::string, std::string>>;
  using Lines = std::vector<std::string>;

  GuardedHub() {
    context.globals.config.ns = "apps";
    for (const char* name : {"c1", "c2", "c3"}) {
      Json labels{{std::string(api::kClusterSetLabel), std::string_view(name) == "c3" ? "default" : "prod"}};
      api->put(api::managed_clusters(), {{"apiVersion", api::managed_clusters().api_version()},
                                         {"kind", "ManagedCluster"},
                                         {"metadata", {{"name", name}, {"labels", std::move(labels)}}},
                                         {"spec", {{"hubAcceptsClient", true}}},
                                         {"status", {{"conditions", available()}}}});
    }
    for (const char* name : {"prod", "default"}) {
      api->put(api::managed_cluster_sets(), {{"apiVersion", api::managed_cluster_sets().api_version()},
                                             {"kind", "ManagedClusterSet"},
                                             {"metadata", {{"name", name}}},
                                             {"spec", {{"clusterSelector", {{"selectorType", "ExclusiveClusterSetLabel"}}}}}});
    }
    api->put(api::managed_cluster_set_bindings(), {{"apiVersion", api::managed_cluster_set_bindings().api_version()},
                                                   {"kind", "ManagedClusterSetBinding"},
                                                   {"metadata", {{"name", "prod"}, {"namespace", "apps"}}},
                                                   {"spec", {{"clusterSet", "prod"}}}});
    api->put(api::placements(), {{"apiVersion", api::placements().api_version()},
                                 {"kind", "Placement"},
                                 {"metadata", {{"name", "web"}, {"namespace", "apps"}}},
                                 {"spec", Json::object()}});
    Json entries = Json::array({{{"clusterName", "c1"}, {"reason", ""}}, {{"clusterName", "c2"}, {"reason", ""}}});
    api->put(api::placement_decisions(),
             {{"apiVersion", api::placement_decisions().api_version()},
              {"kind", "PlacementDecision"},
              {"metadata",
               {{"name", "web-decision-1"}, {"namespace", "apps"}, {"labels", {{std::string(api::kPlacementLabel), "web"}}}}},
              {"status", {{"decisions", std::move(entries)}}}});
    api->put(api::manifest_work_replica_sets(), {{"apiVersion", api::manifest_work_replica_sets().api_version()},
                                                 {"kind", "ManifestWorkReplicaSet"},
                                                 {"metadata", {{"name", "web"}, {"namespace", "apps"}}},
                                                 {"spec", {{"placementRefs", Json::array({{{"name", "web"}}})}}}});
    for (const char* name : {"c1", "c2"}) {
      api->put(api::manifest_works(),
               {{"apiVersion", api::manifest_works().api_version()},
                {"kind", "ManifestWork"},
                {"metadata",
                 {{"name", "web-12345"}, {"namespace", name}, {"labels", {{std::string(work::kReplicaSetLabel), "apps.web"}}}}}});
    }
    api->forget_calls();
  }
  static Json available() {
    return Json::array({{{"type", "ManagedClusterConditionAvailable"},
                         {"status", "True"},
                         {"reason", "ManagedClusterAvailable"},
                         {"message", ""},
                         {"lastTransitionTime", "2026-03-01T09:00:00Z"}}});
  }
  Result<Report> run(const std::string& path, const Lines& args, Flags flags = {}) {
    return testkit::run_command(registry, path, context, flags, args);
  }
  Json cluster(const std::string& name) const { return api->get(api::managed_clusters(), "", name).value_or(Json()); }
  /// Writes that were meant: a trial is none.
  int writes() const {
    int count = 0;
    for (const testkit::ApiCall& call : api->writes()) count += call.param("dryRun").empty() ? 1 : 0;
    return count;
  }
  void expect_refused(const Result<Report>& report, const std::string& words) {
    ASSERT_FALSE(report.has_value());
    EXPECT_EQ(report.error().reason, "RemovalsNotAllowed") << report.error().message;
    EXPECT_NE(report.error().message.find(words), std::string::npos) << report.error().message;
    EXPECT_NE(report.error().hint.find("--allow-removals"), std::string::npos);
    EXPECT_EQ(writes(), 0);
  }

  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(*parse_time("2026-03-01T10:00:00Z"));
  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make(clock);
  testkit::FakeContext context{api->client(), clock};
  Registry registry;
};

}  // namespace fleetadm::commands
