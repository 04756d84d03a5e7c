#include "core/addon/rules/scenario.h"

namespace fleetadm::addon {

Result<ScenarioInput> read_scenario(const Json& scenario) {
  if (!scenario.is_object()) return fail(Category::kInvalid, "a scenario is a JSON object");
  ScenarioInput input;
  input.addon = str(scenario, {"addon"});
  input.cluster = str(scenario, {"cluster"});
  if (input.addon.empty()) return fail(Category::kInvalid, "a scenario needs an addon");
  if (find(scenario, {"now"}) != nullptr) {
    const std::optional<Instant> now = parse_time(str(scenario, {"now"}));
    if (!now) return fail(Category::kInvalid, "now is not a time (RFC 3339)");
    input.now = *now;
  }
  FLEETADM_TRY(input.objects, MemoryObjects::from(list_at(scenario, {"objects"})));
  return input;
}

}  // namespace fleetadm::addon
