#include "core/rollout/scenario.h"

#include <algorithm>
#include <utility>

#include "core/rollout/engine.h"
#include "core/rollout/strategy.h"

namespace fleetadm::rollout {
namespace {

Result<Instant> required_time(const Json& value, std::string_view key) {
  const std::optional<Instant> at = parse_time(str(value, {key}));
  if (!at) return fail(Category::kInvalid, std::string(key) + " is not a time (RFC 3339)");
  return *at;
}

Result<std::vector<Group>> decode_groups(const Json& scenario) {
  std::vector<Group> groups;
  for (const Json& entry : list_at(scenario, {"groups"})) {
    if (!entry.is_object()) return fail(Category::kInvalid, "groups: not an object");
    Group group{{str(entry, {"name"}), static_cast<int>(num(entry, {"index"}))}, string_list_at(entry, {"clusters"})};
    groups.push_back(std::move(group));
  }
  return groups;
}

Result<std::vector<ClusterState>> decode_existing(const Json& scenario, const std::vector<Group>& groups) {
  std::vector<ClusterState> existing;
  for (const Json& entry : list_at(scenario, {"existing"})) {
    ClusterState one;
    one.cluster = str(entry, {"clusterName"});
    one.state = parse_state(str(entry, {"status"}));
    if (find(entry, {"lastTransitionTime"}) != nullptr) {
      FLEETADM_TRY(one.since, required_time(entry, "lastTransitionTime"));
    }
    for (const Group& group : groups) {
      if (std::find(group.clusters.begin(), group.clusters.end(), one.cluster) != group.clusters.end()) one.group = group.key;
    }
    existing.push_back(std::move(one));
  }
  return existing;
}

Json encode(std::vector<ClusterState> list) {
  std::stable_sort(list.begin(), list.end(), [](const ClusterState& a, const ClusterState& b) { return a.cluster < b.cluster; });
  Json out = Json::array();
  for (const ClusterState& one : list) {
    Json entry = Json::object({{"clusterName", one.cluster}, {"status", to_string(one.state)}});
    if (one.since) entry["lastTransitionTime"] = format_time(*one.since);
    if (one.recheck) entry["recheckTime"] = format_time(*one.recheck);
    if (one.state == State::kToApply) {
      if (!one.group.name.empty()) entry["groupName"] = one.group.name;
      entry["groupIndex"] = one.group.index;
    }
    out.push_back(std::move(entry));
  }
  return out;
}

/// A refused strategy moves nothing; its record has the same members as any other.
Json refused(const Error& error) {
  return Json::object({{"error", error.message},
                       {"toRollout", Json::array()},
                       {"timeOut", Json::array()},
                       {"removed", Json::array()},
                       {"maxFailureBreach", false}});
}

}  // namespace

Result<Json> answer_scenario(const Json& scenario, Semantics conduct) {
  if (!scenario.is_object()) return fail(Category::kInvalid, "a scenario is a JSON object");
  FLEETADM_TRY(const Instant now, required_time(scenario, "now"));
  FLEETADM_TRY(const std::vector<Group> groups, decode_groups(scenario));
  FLEETADM_TRY(const std::vector<ClusterState> existing, decode_existing(scenario, groups));
  const Result<Strategy> strategy = parse_strategy(object_at(scenario, {"strategy"}));
  if (!strategy) return refused(strategy.error());
  const Result<Step> step = next_step(*strategy, groups, existing, now, conduct);
  if (!step) return refused(step.error());
  Json answer = Json::object(
      {{"toRollout", encode(step->rollout)}, {"timeOut", encode(step->timed_out)}, {"maxFailureBreach", step->breach}});
  std::vector<std::string> removed = step->removed;
  std::sort(removed.begin(), removed.end());
  answer["removed"] = std::move(removed);
  if (step->recheck_after) answer["recheckAfter"] = format_duration(*step->recheck_after);
  return answer;
}

}  // namespace fleetadm::rollout
