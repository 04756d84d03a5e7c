#include "core/addon/rules/dialed_cluster.h"

#include <utility>

#include "core/addon/rules/registration.h"
#include "core/addon/rules/work_verdict.h"
#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/controller/controller.h"

namespace fleetadm::addon {
namespace {

constexpr std::string_view kAddonAvailable = "Available";

ObjectPtr dialed_cluster(const ObjectReader& objects, std::string_view cluster) {
  ObjectPtr found = objects.get(managed_clusters(), {}, cluster);
  return found != nullptr && api::is_push_member(*found) ? found : nullptr;
}

}  // namespace

bool needs_an_agent(const ObjectReader& objects, const Json& addon, const Json& addon_template) {
  return !list_at(addon_template, {"spec", "registration"}).empty() && dialed_cluster(objects, namespace_of(addon)) != nullptr;
}

bool waits_for_an_agent(const Json& addon) {
  const Json* said = controller::find_condition(addon, kRegistrationApplied);
  return said != nullptr && str(*said, {"reason"}) == kNoAgent;
}

Pass dialed_health_pass(const ObjectReader& objects, std::string_view cluster, std::string_view addon, Instant now) {
  Pass pass;
  const ObjectPtr before = objects.get(managed_cluster_addons(), cluster, addon);
  if (before == nullptr || is_deleting(*before) || str(*before, {"status", "healthCheck", "mode"}) == "Customized") return pass;
  const ObjectPtr dialed = dialed_cluster(objects, cluster);
  if (dialed == nullptr || controller::condition_is(*dialed, api::kConditionAvailable, "Unknown")) return pass;
  const Verdict verdict = trouble_of_works(objects.addon_works(cluster, addon))
                              .value_or(Verdict{"True", "WorkApplied", "Addon manifestWork is applied"});
  Json after = *before;
  if (controller::set_condition(at_or_make(after, {"status", "conditions"}), kAddonAvailable, verdict.status, verdict.reason,
                                verdict.message, now))
    pass.changed.push_back(std::move(after));
  return pass;
}

}  // namespace fleetadm::addon
