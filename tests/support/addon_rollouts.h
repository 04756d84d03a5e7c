// An add-on's roll-out on an API server in memory, the hub's passes made by hand: commands see what a hub would have written.
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "core/addon/plan/rollout_objects.h"
#include "core/addon/rules/configuration.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "tests/support/fake_api.h"
#include "tests/support/replica_sets.h"

namespace fleetadm::testkit {

/// The add-on "hello" with the default configuration apps/base, on the clusters of placement apps/all.
class AddonRolloutHub {
 public:
  std::shared_ptr<FakeApi> api = FakeApi::make();

  explicit AddonRolloutHub(const std::vector<std::string>& clusters, Json strategy = one_by_one()) {
    put_decided(*api, "apps", "all", {{"", clusters}});
    for (const std::string& cluster : clusters) {
      api->put(
          api::managed_clusters(),
          {{"apiVersion", api::managed_clusters().api_version()}, {"kind", "ManagedCluster"}, {"metadata", {{"name", cluster}}}});
      api->put(api::managed_cluster_addons_v1beta1(), {{"apiVersion", "addon.open-cluster-management.io/v1beta1"},
                                                       {"kind", "ManagedClusterAddOn"},
                                                       {"metadata", {{"name", "hello"}, {"namespace", cluster}}},
                                                       {"spec", Json::object()}});
    }
    put_config("base", "one");
    Json placement{{"namespace", "apps"}, {"name", "all"}, {"rolloutStrategy", std::move(strategy)}};
    api->put(api::cluster_management_addons_v1beta1(),
             {{"apiVersion", "addon.open-cluster-management.io/v1beta1"},
              {"kind", "ClusterManagementAddOn"},
              {"metadata", {{"name", "hello"}}},
              {"spec",
               {{"defaultConfigs", Json::array({reference("base")})},
                {"installStrategy", {{"type", "Placements"}, {"placements", Json::array({std::move(placement)})}}}}}});
  }

  static Json one_by_one() { return {{"type", "Progressive"}, {"progressive", {{"maxConcurrency", 1}}}}; }
  static Json reference(const std::string& name) {
    return {{"group", "addon.open-cluster-management.io"},
            {"resource", "addondeploymentconfigs"},
            {"namespace", "apps"},
            {"name", name}};
  }
  void put_config(const std::string& name, const std::string& value) const {
    api->put(api::addon_deployment_configs(), {{"apiVersion", "addon.open-cluster-management.io/v1beta1"},
                                               {"kind", "AddOnDeploymentConfig"},
                                               {"metadata", {{"name", name}, {"namespace", "apps"}}},
                                               {"spec", {{"agentInstallNamespace", value}}}});
  }
  Json config(const std::string& name) const { return api->get(api::addon_deployment_configs(), "apps", name).value_or(Json()); }
  Json declaration() const { return api->get(api::cluster_management_addons_v1beta1(), "", "hello").value_or(Json()); }
  std::string default_config() const { return str(list_at(declaration(), {"spec", "defaultConfigs"}).at(0), {"name"}); }
  void set_default(const std::string& name) const {
    Json changed = declaration();
    changed["spec"]["defaultConfigs"] = Json::array({reference(name)});
    api->put(api::cluster_management_addons_v1beta1(), std::move(changed));
  }

  /// One pass of the hub.
  void pass() const {
    const auto read = addon::read_addon_rollout(api->client(), "hello");
    ASSERT_TRUE(read) << read.error().message;
    const Instant now = Clock::system()->now();
    const addon::Pass made = addon::pass_of(addon::roll_out_addon(read->objects, "hello", read->known(), now), read->objects,
                                            "hello", now, rollout::Semantics::kStrict);
    for (const Error& error : made.errors) ADD_FAILURE() << error.message;
    for (const Json& object : made.changed) {
      api->put(namespace_of(object).empty() ? api::cluster_management_addons_v1beta1() : api::managed_cluster_addons_v1beta1(),
               object);
    }
  }
  /// The name of the configuration that a cluster's add-on is configured with; empty: none yet.
  std::string config_on(const std::string& cluster) const {
    const Json addon = api->get(api::managed_cluster_addons_v1beta1(), cluster, "hello").value_or(Json());
    const Json& references = list_at(addon, {"status", "configReferences"});
    return references.empty() ? std::string() : str(references[0], {"desiredConfig", "name"});
  }
  /// The agents bring about what is desired of them.
  void succeed() const {
    for (Json addon : api->all(api::managed_cluster_addons_v1beta1())) {
      if (list_at(addon, {"status", "configReferences"}).empty()) continue;
      for (Json& one : addon["status"]["configReferences"]) one["lastAppliedConfig"] = Json(one["desiredConfig"]);
      controller::set_condition(addon["status"]["conditions"], "Progressing", "False", "Completed", "", Clock::system()->now());
      api->put(api::managed_cluster_addons_v1beta1(), addon);
    }
  }
  void finish() const {
    for (int i = 0; i < 12; ++i) {
      pass();
      succeed();
    }
    pass();
  }
};

}  // namespace fleetadm::testkit
