// FlowSchemas: whether the priority level that one names exists.
#include "core/sandbox/controllers/controller.h"

namespace fleetadm::sandbox {

void sync_flow_schema(const ControllerContext& context, const std::string& name) {
  const auto kind = kind_of(context, "flowcontrol.apiserver.k8s.io", "flowschemas");
  const auto levels = kind_of(context, "flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations");
  if (!kind || !levels) return;
  const auto schema = context.engine.get(*kind, "", name);
  if (!schema || is_deleting(*schema)) return;
  const std::string level = str(*schema, {"spec", "priorityLevelConfiguration", "name"});
  const bool found = context.engine.get(*levels, "", level).has_value();
  const std::string message = "This FlowSchema references the PriorityLevelConfiguration object named \"" + level + "\" " +
                              (found ? "and it exists" : "but there is no such object");
  change(context, *kind, *schema, as_controller("api-priority-and-fairness-config-consumer-v1", "status"), [&](Json& next) {
    set_condition(next, "Dangling", !found, found ? "Found" : "NotFound", message, context.engine.clock().now());
    for (Json& condition : next["status"]["conditions"]) condition.erase("lastUpdateTime");  // not of this kind
  });
}

}  // namespace fleetadm::sandbox
