#include "commands/addon/overwrite_guard.h"

#include <utility>

#include "commands/addon/install_strategy.h"
#include "core/addon/rules/config_hash.h"
#include "core/addon/rules/conversion.h"
#include "core/addon/rules/earlier_contents.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {

void bind_overwrite_guard(FlagSet& flags, AddonGuardOptions& options) {
  GuardOptions& guard = options.removals.guard;
  flags.boolean(&guard.allow, "allow-removals", "Allow any number of removals of works and objects, without asking");
  flags.boolean(&options.many, "allow-many", "Allow any number of clusters to change at once, without asking");
  flags.boolean(&guard.yes, "yes", "Skip the confirmation prompt at a terminal", 'y');
}

Status guard_overwrite(Context& context, const kube::Client& hub, const AddonGuardOptions& options, const Overwrite& change,
                       std::vector<std::string>& notes) {
  if (!addon::is_managed(change.before)) return {};
  const std::string name = name_of(change.before);
  const std::string what = "overwriting add-on " + name;
  FLEETADM_TRY(const work::Impact impact, strategy_impact(hub, change.before, change.after));
  FLEETADM_CHECK(guard_impact(context, options.removals.guard, what, impact, notes));

  addon::ConfigEdit edit{
      {addon::addon_templates(), {}, name_of(change.addon_template)}, addon::contents_of(change.addon_template), {}};
  FLEETADM_TRY(const addon::AddonRolloutObjects read, addon_objects(hub, name, {{edit.key, {}}}));
  FLEETADM_TRY(const Json after, addon::convert_addon(change.after, api::cluster_management_addons_v1beta1().api_version()));
  addon::AddonChange rollout;
  rollout.addon = name;
  rollout.edit = [&](Json& declaration) -> Status {
    declaration["spec"] = object_at(after, {"spec"});
    return {};
  };
  rollout.edits.push_back(std::move(edit));
  const auto prepared = addon::prepare_change(read, std::move(rollout), context.clock().now(), options.course());
  if (!prepared && options.many) return {};
  if (!prepared) {
    Error error = prepared.error().wrap("cannot compute which clusters " + what + " would change");
    error.hint = "to proceed without knowing, add --allow-many";
    return fail(std::move(error));
  }
  FLEETADM_CHECK(guard_addon_change(context, options, what, *prepared, notes));
  return {};
}

}  // namespace fleetadm::commands
