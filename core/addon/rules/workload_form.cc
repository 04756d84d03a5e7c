#include "core/addon/rules/workload_form.h"

#include "core/apimachinery/decode.h"

namespace fleetadm::addon {

std::optional<WorkloadKind> workload_kind(const Json& manifest) {
  const std::string version = str(manifest, {"apiVersion"});
  const std::string kind = str(manifest, {"kind"});
  if (!version.starts_with("apps/") || version.find('/') != version.rfind('/')) return std::nullopt;
  if (kind == "Deployment") return WorkloadKind::kDeployment;
  if (kind == "DaemonSet") return WorkloadKind::kDaemonSet;
  return std::nullopt;
}

Status to_typed_form(Json& workload, WorkloadKind kind) {
  const apimachinery::TypeNode* type =
      apimachinery::find_kind("apps", "v1", kind == WorkloadKind::kDeployment ? "Deployment" : "DaemonSet");
  if (type == nullptr) return fail(Category::kInternal, "apps/v1 is not known");
  std::vector<std::string> unknown;
  return apimachinery::decode_builtin(workload, *type, unknown);
}

bool fits_type(const Json& workload, WorkloadKind kind) {
  Result<Json> canonical = parse_json(dump_json(workload));  // 2.0 becomes 2
  return canonical && to_typed_form(*canonical, kind);
}

}  // namespace fleetadm::addon
