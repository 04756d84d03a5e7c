// A hub in memory with clusters c1, c2, … and the work commands on it.
#pragma once

#include <gtest/gtest.h>

#include "commands/work/work.h"
#include "core/api/kinds.h"
#include "core/work/rules/names.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::commands {

class WorkHub : public testing::Test {
 protected:
  using Flags = std::vector<std::pair<std::string, std::string>>;

  WorkHub() { register_work(registry_); }
  void clusters(int count) {
    for (int i = 1; i <= count; ++i) {
      hub_->put(api::managed_clusters(), {{"apiVersion", "cluster.open-cluster-management.io/v1"},
                                          {"kind", "ManagedCluster"},
                                          {"metadata", {{"name", "c" + std::to_string(i)}, {"labels", {{"env", "dev"}}}}}});
    }
  }
  void unreachable(const std::string& cluster) {
    Json object = *hub_->get(api::managed_clusters(), "", cluster);
    object["status"]["conditions"] = Json::array({{{"type", "ManagedClusterConditionAvailable"},
                                                   {"status", "Unknown"},
                                                   {"reason", "ManagedClusterLeaseUpdateStopped"},
                                                   {"message", "Registration agent stopped updating its lease."},
                                                   {"lastTransitionTime", "2026-03-01T09:00:00Z"}}});
    hub_->put(api::managed_clusters(), object);
  }
  /// A placement default/<name> that has decided on these.
  void placement(const std::string& name, const std::vector<std::string>& chosen) {
    hub_->put(api::placements(), {{"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
                                  {"kind", "Placement"},
                                  {"metadata", {{"name", name}, {"namespace", "default"}}}});
    Json decisions = Json::array();
    for (const std::string& cluster : chosen) decisions.push_back({{"clusterName", cluster}, {"reason", ""}});
    hub_->put(
        api::placement_decisions(),
        {{"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
         {"kind", "PlacementDecision"},
         {"metadata",
          {{"name", name + "-decision-1"}, {"namespace", "default"}, {"labels", {{std::string(api::kPlacementLabel), name}}}}},
         {"status", {{"decisions", decisions}}}});
  }
  Result<Report> run(const std::string& path, const Flags& flags, const std::vector<std::string>& args = {"web"}) {
    return testkit::run_command(registry_, path, context_, flags, args);
  }
  std::string file(const std::string& text, const std::string& name = "web.yaml") { return folder_.write(name, text); }
  static std::string config_map(const std::string& name, std::size_t bytes = 1) {
    return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name +
           ", namespace: default}\ndata: {v: " + std::string(bytes, 'x') + "}\n";
  }
  std::optional<Json> work(const std::string& cluster, const std::string& name = "web") {
    return hub_->get(api::manifest_works(), cluster, name);
  }
  static std::vector<std::string> objects_of(const std::optional<Json>& work) {
    std::vector<std::string> names;
    if (!work) return {"<no work>"};
    for (const Json& manifest : list_at(*work, {"spec", "workload", "manifests"})) names.push_back(name_of(manifest));
    return names;
  }

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>(*parse_time("2026-03-01T10:00:00Z"));
  std::shared_ptr<testkit::FakeApi> hub_ = testkit::FakeApi::make(clock_);
  testkit::FakeContext context_{hub_->client(), clock_};
  testkit::TemporaryFolder folder_{"work-hub"};
  Registry registry_;
};

}  // namespace fleetadm::commands
