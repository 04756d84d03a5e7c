// ValidatingAdmissionPolicies: what the static check of their expressions finds.
#include "core/sandbox/admission/type_check.h"
#include "core/sandbox/controllers/controller.h"

namespace fleetadm::sandbox {

void sync_admission_policy(const ControllerContext& context, const std::string& name) {
  const auto kind = kind_of(context, "admissionregistration.k8s.io", "validatingadmissionpolicies");
  if (!kind) return;
  const auto policy = context.engine.get(*kind, "", name);
  if (!policy || is_deleting(*policy)) return;
  const std::int64_t generation = num(*policy, {"metadata", "generation"});
  if (num(*policy, {"status", "observedGeneration"}) == generation) return;
  Json checked = Json::object();
  Json warnings = admission::expression_warnings(context.engine.kinds(), *policy);
  if (!warnings.empty()) checked["expressionWarnings"] = std::move(warnings);
  change(context, *kind, *policy, as_controller("validatingadmissionpolicy-status", "status"), [&](Json& next) {
    next["status"]["observedGeneration"] = generation;
    next["status"]["typeChecking"] = checked;
  });
}

}  // namespace fleetadm::sandbox
