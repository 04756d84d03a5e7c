// FlowSchemas: whether the priority level that one names exists.
#include "core/sandbox/auth/flow_schemas.h"

#include <algorithm>

#include "core/sandbox/controllers/controller.h"

namespace fleetadm::sandbox {
namespace {

Json* dangling_in(Json& schema) {
  Json& conditions = at_or_make(schema, {"status", "conditions"});
  if (!conditions.is_array()) conditions = Json::array();
  const auto found =
      std::find_if(conditions.begin(), conditions.end(), [](const Json& one) { return str(one, {"type"}) == "Dangling"; });
  return found == conditions.end() ? nullptr : &*found;
}

}  // namespace

void sync_flow_schema(const ControllerContext& context, const std::string& name) {
  const auto kind = kind_of(context, "flowcontrol.apiserver.k8s.io", "flowschemas");
  const auto levels = kind_of(context, "flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations");
  if (!kind || !levels) return;
  auto schema = context.engine.get(*kind, "", name);
  if (!schema || is_deleting(*schema)) return;
  const std::string level = str(*schema, {"spec", "priorityLevelConfiguration", "name"});
  const bool exists = context.engine.store().get(levels->storage, "", level) != nullptr;
  const Json wanted = dangling_condition(level, exists, context.engine.clock().now());
  const auto same = [&](const Json& condition, const char* field) { return str(condition, {field}) == str(wanted, {field}); };
  if (const Json* now = dangling_in(*schema); now != nullptr && same(*now, "status") && same(*now, "message")) return;
  change(context, *kind, *schema, as_controller("api-priority-and-fairness-config-consumer-v1", "status"), [&](Json& next) {
    Json* condition = dangling_in(next);
    if (condition == nullptr) condition = &next["status"]["conditions"].emplace_back(wanted);
    const std::string since = same(*condition, "status") ? str(*condition, {"lastTransitionTime"}) : "";
    *condition = wanted;
    if (!since.empty()) (*condition)["lastTransitionTime"] = since;
  });
}

}  // namespace fleetadm::sandbox
