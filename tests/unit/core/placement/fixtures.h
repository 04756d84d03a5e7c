// Worlds and placements from short texts, for the tests of the scheduler.
#pragma once

#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "core/placement/engine/decode.h"
#include "core/placement/engine/fleet_state.h"
#include "core/placement/engine/scenario.h"
#include "core/placement/engine/schedule.h"

namespace fleetadm::test {

using placement::put_object;

inline Json parsed(std::string_view text) {
  auto value = parse_json(text);
  if (!value) ADD_FAILURE() << value.error().message << " in " << text;
  return value ? std::move(*value) : Json();
}

inline Instant test_now() { return *parse_time("2026-03-01T10:00:00Z"); }
inline std::string seconds_from_now(int seconds) { return format_time(test_now() + std::chrono::seconds(seconds)); }

/// A ManagedCluster; labels as a JSON object, taints as a JSON list of spec.taints.
inline Json cluster_object(const std::string& name, Json labels = Json::object(), Json taints = Json::array()) {
  return {{"kind", "ManagedCluster"},
          {"metadata", {{"name", name}, {"labels", std::move(labels)}}},
          {"spec", {{"taints", std::move(taints)}}}};
}

inline Json set_object(const std::string& name, Json selector = Json::object()) {
  return {{"kind", "ManagedClusterSet"}, {"metadata", {{"name", name}}}, {"spec", {{"clusterSelector", std::move(selector)}}}};
}

/// A set of everything, as `global` is.
inline Json everything_set(const std::string& name) {
  return set_object(name, {{"selectorType", "LabelSelector"}, {"labelSelector", Json::object()}});
}

inline Json binding_object(const std::string& ns, const std::string& set) {
  return {
      {"kind", "ManagedClusterSetBinding"}, {"metadata", {{"name", set}, {"namespace", ns}}}, {"spec", {{"clusterSet", set}}}};
}

inline Json decision_object(const std::string& ns, const std::string& name, const std::string& placement,
                            const std::vector<std::string>& clusters) {
  Json object{{"kind", "PlacementDecision"}, {"metadata", {{"name", name}, {"namespace", ns}, {"labels", Json::object()}}}};
  if (!placement.empty()) object["metadata"]["labels"]["cluster.open-cluster-management.io/placement"] = placement;
  object["status"]["decisions"] = Json::array();
  for (const std::string& cluster : clusters) object["status"]["decisions"].push_back({{"clusterName", cluster}, {"reason", ""}});
  return object;
}

inline Json placement_object(const std::string& ns, const std::string& name, Json spec) {
  return {{"kind", "Placement"}, {"metadata", {{"name", name}, {"namespace", ns}}}, {"spec", std::move(spec)}};
}

inline const placement::ConditionValue& condition_of(const placement::Pass& pass, std::string_view type) {
  static const placement::ConditionValue none;
  for (const auto& one : pass.conditions) {
    if (one.type == type) return one;
  }
  return none;
}

}  // namespace fleetadm::test
