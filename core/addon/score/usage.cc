#include "core/addon/score/usage.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/controller/controller.h"
#include "kubeclient/base/quantity.h"

namespace fleetadm::addon {
namespace {

constexpr int kValidRefreshes = 3;
constexpr const char* kUpdated = "AddOnPlacementScoreUpdated";

double quantity_at(const Json& list, const char* resource) {
  // A quantity may be written as a number.
  const Json* value = find(list, {resource});
  if (value == nullptr) return 0;
  const auto parsed = Quantity::parse(value->is_string() ? value->get<std::string>() : dump_json(*value));
  return parsed ? parsed->approximate() : 0;
}

Resources resources_in(const Json& list) { return {quantity_at(list, "cpu"), quantity_at(list, "memory")}; }

Resources operator+(const Resources& a, const Resources& b) { return {a.cpu + b.cpu, a.memory + b.memory}; }

Resources larger(const Resources& a, const Resources& b) { return {std::max(a.cpu, b.cpu), std::max(a.memory, b.memory)}; }

Resources requested(const Json& container) { return resources_in(object_at(container, {"resources", "requests"})); }

}  // namespace

Resources offered_by(const Json& node) {
  if (flag(node, {"spec", "unschedulable"})) return {};
  return resources_in(object_at(node, {"status", "allocatable"}));
}

Resources held_by(const Json& pod) {
  const std::string phase = str(pod, {"status", "phase"});
  if (str(pod, {"spec", "nodeName"}).empty() || phase == "Succeeded" || phase == "Failed") return {};
  Resources running;
  for (const Json& container : list_at(pod, {"spec", "containers"})) running = running + requested(container);
  Resources sidecars;
  Resources starting;
  for (const Json& container : list_at(pod, {"spec", "initContainers"})) {
    if (str(container, {"restartPolicy"}) == "Always") {
      sidecars = sidecars + requested(container);
      starting = larger(starting, sidecars);
    } else {
      starting = larger(starting, sidecars + requested(container));
    }
  }
  return larger(running + sidecars, starting) + resources_in(object_at(pod, {"spec", "overhead"}));
}

Resources used_by(const Json& node_metrics) { return resources_in(object_at(node_metrics, {"usage"})); }

std::int64_t free_score(double free, double most) {
  if (free >= most) return 100;
  if (!(free > 0)) return -100;
  return static_cast<std::int64_t>(std::trunc(100 * free / most));
}

Json score_status(const Resources& free, const ScoreOptions& options, Instant now) {
  Json conditions = Json::array();
  controller::set_condition(conditions, kUpdated, "True", kUpdated, "AddOnPlacementScore updated successfully", now);
  return {{"conditions", std::move(conditions)},
          {"scores", Json::array({{{"name", "cpuAvailable"}, {"value", free_score(free.cpu, options.most.cpu)}},
                                  {{"name", "memAvailable"}, {"value", free_score(free.memory, options.most.memory)}}})},
          {"validUntil", format_time(now + kValidRefreshes * options.refresh)}};
}

bool is_stale(const Json& published, const Json& wanted, const ScoreOptions& options, Instant now) {
  if (list_at(published, {"scores"}) != list_at(wanted, {"scores"})) return true;
  const auto until = parse_time(str(published, {"validUntil"}));
  return !until || *until < now + (kValidRefreshes - 1) * options.refresh + std::chrono::seconds(1);
}

}  // namespace fleetadm::addon
