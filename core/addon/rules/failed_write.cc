#include "core/addon/rules/failed_write.h"

#include <utility>

#include "core/addon/rules/deploy_state.h"
#include "core/addon/rules/registration.h"
#include "core/addon/rules/token_infrastructure.h"
#include "core/controller/controller.h"

namespace fleetadm::addon {
namespace {

Json with_failure(const Json& before, Json wanted, std::string_view type, std::string_view reason, const std::string& message,
                  Instant now) {
  Json& conditions = at_or_make(wanted, {"status", "conditions"});
  if (!conditions.is_array()) conditions = Json::array();
  if (const Json* known = controller::find_condition(before, type)) {
    bool there = false;
    for (Json& condition : conditions) {
      if (str(condition, {"type"}) != type) continue;
      condition = *known;
      there = true;
    }
    if (!there) conditions.push_back(*known);
  }
  controller::set_condition(conditions, type, "False", reason, message, now);
  return wanted;
}

}  // namespace

Json with_failed_work(const Json& before, Json wanted, Side side, const Error& error, Instant now) {
  return with_failure(before, std::move(wanted), applied_condition_of(side), "ManifestWorkApplyFailed",
                      "failed to apply manifestWork: " + error.message, now);
}

Json with_failed_rights(const Json& before, Json wanted, const Error& error, Instant now) {
  return with_failure(before, std::move(wanted), kRegistrationApplied, kPermissionFailed, permission_failure(error), now);
}

Json with_failed_token(const Json& before, Json wanted, const Error& error, Instant now) {
  return with_failure(before, std::move(wanted), kTokenReady, "TokenInfrastructureApplyFailed", error.message, now);
}

}  // namespace fleetadm::addon
