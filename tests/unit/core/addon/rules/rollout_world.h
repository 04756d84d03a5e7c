// A hub's objects of one add-on and its roll-out, for the rules of configuration.
#pragma once

#include <gtest/gtest.h>

#include "core/addon/rules/config_hash.h"
#include "core/addon/rules/configuration.h"
#include "core/controller/controller.h"

namespace fleetadm::addon {

inline const Instant kStart = *parse_time("2026-11-23T12:00:00Z");
inline constexpr const char* kAddonVersion = "addon.open-cluster-management.io/v1beta1";

inline bool all_known(const GroupResource&) { return true; }

/// A hub with the add-on "a", whose default configuration is ns/base, and the placement ns/p over some clusters.
struct RolloutRules : testing::Test {
  MemoryObjects objects;
  Instant now = kStart;

  void put_config(const std::string& name, const std::string& value) {
    objects.put(Json{{"apiVersion", kAddonVersion},
                     {"kind", "AddOnDeploymentConfig"},
                     {"metadata", {{"name", name}, {"namespace", "ns"}, {"generation", 1}}},
                     {"spec", {{"agentInstallNamespace", value}}}});
  }
  static Json config(const std::string& name) {
    return Json{{"group", "addon.open-cluster-management.io"},
                {"resource", "addondeploymentconfigs"},
                {"namespace", "ns"},
                {"name", name}};
  }
  void put_declaration(const Json& strategy, const std::string& default_config = "base") {
    objects.put(
        Json{{"apiVersion", kAddonVersion},
             {"kind", "ClusterManagementAddOn"},
             {"metadata", {{"name", "a"}, {"uid", "u"}}},
             {"spec",
              {{"defaultConfigs", Json::array({config(default_config)})},
               {"installStrategy",
                {{"type", "Placements"},
                 {"placements", Json::array({Json{{"name", "p"}, {"namespace", "ns"}, {"rolloutStrategy", strategy}}})}}}}}});
  }
  void put_placement(const std::vector<std::vector<std::string>>& groups, const std::string& name = "p",
                     const Json& status = Json::object()) {
    objects.put(Json{{"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
                     {"kind", "Placement"},
                     {"metadata", {{"name", name}, {"namespace", "ns"}}},
                     {"status", status}});
    for (std::size_t i = 0; i < groups.size(); ++i) {
      Json decision{{"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
                    {"kind", "PlacementDecision"},
                    {"metadata", {{"name", name + "-" + std::to_string(i)}, {"namespace", "ns"}}}};
      decision["metadata"]["labels"] = {{"cluster.open-cluster-management.io/placement", name},
                                        {"cluster.open-cluster-management.io/decision-group-index", std::to_string(i)},
                                        {"cluster.open-cluster-management.io/decision-group-name", ""}};
      for (const std::string& cluster : groups[i]) {
        at_or_make(decision, {"status", "decisions"}).push_back(Json{{"clusterName", cluster}});
        objects.put(Json{{"apiVersion", "cluster.open-cluster-management.io/v1"},
                         {"kind", "ManagedCluster"},
                         {"metadata", {{"name", cluster}}}});
      }
      objects.put(decision);
    }
  }
  void put_addon(const std::string& cluster, const Json& spec = Json::object()) {
    objects.put(Json{{"apiVersion", kAddonVersion},
                     {"kind", "ManagedClusterAddOn"},
                     {"metadata", {{"name", "a"}, {"namespace", cluster}}},
                     {"spec", spec}});
  }
  void take(const Pass& pass) {
    for (const Json& object : pass.changed) objects.put(object);
    for (const Error& error : pass.errors) ADD_FAILURE() << error.message;
  }
  Pass written(RolloutStep step, rollout::Semantics conduct = rollout::Semantics::kStrict) const {
    return pass_of(std::move(step), objects, "a", now, conduct);
  }
  void roll() { take(written(roll_out_addon(objects, "a", all_known, now))); }
  Json addon(const std::string& cluster) const { return *objects.get(managed_cluster_addons(), cluster, "a"); }
  Json declaration() const { return *objects.get(cluster_management_addons(), {}, "a"); }
  /// The hash that the add-on of a cluster is to have of its first configuration; empty: it is not configured.
  std::string hash_in(const std::string& cluster) const {
    const Json object = addon(cluster);
    const Json& references = list_at(object, {"status", "configReferences"});
    return references.empty() ? std::string() : str(references[0], {"desiredConfig", "specHash"});
  }
  std::string live(const std::string& name) const {
    return config_spec_hash(*objects.get(addon_deployment_configs(), "ns", name));
  }
  /// The agent of a cluster has brought about what is desired.
  void complete(const std::string& cluster) {
    Json object = addon(cluster);
    for (Json& reference : object["status"]["configReferences"])
      reference["lastAppliedConfig"] = Json(reference["desiredConfig"]);
    controller::set_condition(object["status"]["conditions"], "Progressing", "False", "Completed", "", now);
    objects.put(object);
  }
  std::string configured(const std::string& cluster) const {
    const Json object = addon(cluster);
    const Json* condition = controller::find_condition(object, "Configured");
    return condition == nullptr ? "" : str(*condition, {"status"}) + ": " + str(*condition, {"message"});
  }
  std::string progress() const {
    const Json object = declaration();
    const Json& progressions = list_at(object, {"status", "installProgressions"});
    if (progressions.empty() || list_at(progressions[0], {"conditions"}).empty()) return {};
    return str(progressions[0]["conditions"][0], {"message"});
  }
};

inline Json progressive(int most) {
  return Json{{"type", "Progressive"}, {"progressive", {{"maxConcurrency", most}, {"progressDeadline", "5m"}}}};
}

}  // namespace fleetadm::addon
