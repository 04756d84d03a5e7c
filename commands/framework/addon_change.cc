#include "commands/framework/addon_change.h"

#include "commands/framework/dry_run.h"
#include "commands/framework/listing.h"
#include "commands/framework/named.h"
#include "commands/framework/write_report.h"
#include "core/api/kinds.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

std::string near_addons(const kube::Client& hub, const std::string& name) {
  return NearNames(hub, api::cluster_management_addons())
      .hint(name,
            "list add-ons with: fleetadm get addons; make one of manifests with: fleetadm addon create " + name + " -f FILE");
}

Json planned_json(const addon::PlannedCluster& one) {
  Json entry{{"cluster", one.cluster}, {"step", one.step}, {"after", format_duration(one.after)}};
  if (!one.placement.empty()) entry["placement"] = one.placement;
  if (one.group) entry["group"] = {{"name", one.group->name}, {"index", one.group->index}};
  return entry;
}

std::string planned_group(const addon::PlannedCluster& one) {
  if (!one.group) return "<none>";
  return one.group->name.empty() ? std::to_string(one.group->index) : one.group->name;
}

Report addon_plan_report(const std::string& what, const addon::PreparedChange& prepared) {
  const addon::AddonRolloutPlan& plan = prepared.plan;
  Report report;
  report.table = Table{{{"STEP"}, {"CLUSTER"}, {"PLACEMENT"}, {"GROUP"}, {"AFTER"}}, {}, "No cluster changes."};
  report.data = {{"kind", "AddonRolloutPlan"},  {"name", prepared.change.addon}, {"change", what},
                 {"changes", Json::array()},    {"steps", plan.steps()},         {"atOnce", plan.at_once()},
                 {"unchanged", plan.unchanged}, {"clusters", Json::array()},     {"waiting", plan.waiting}};
  for (const addon::ConfigChange& one : prepared.changes) {
    report.data["changes"].push_back(one.text());
    report.notes.push_back(one.text() + ".");
  }
  for (const addon::PlannedCluster& one : plan.clusters) {
    report.table->rows.push_back(
        {std::to_string(one.step), one.cluster, or_none(one.placement), planned_group(one), format_duration(one.after)});
    report.names.push_back(one.cluster);
    report.data["clusters"].push_back(planned_json(one));
  }
  if (plan.missing) report.notes.push_back("Configuration " + plan.missing->text() + " does not exist.");
  if (!plan.waiting.empty()) report.notes.push_back("Never begun: " + joined(plan.waiting, ", ") + ".");
  report.notes.push_back(what + ": " + reach_of(plan) + " if all succeed at once; nothing was changed.");
  return report;
}

}  // namespace

Result<Json> declaration_of(const kube::Client& hub, const std::string& name) {
  FLEETADM_TRY(auto declaration, on_hub(hub.find(api::cluster_management_addons(), "", name)));
  if (declaration) return std::move(*declaration);
  return fail(Category::kNotFound, "there is no add-on \"" + name + "\" on this hub", near_addons(hub, name));
}

Result<addon::AddonRolloutObjects> addon_objects(const kube::Client& hub, const std::string& name,
                                                 const std::vector<addon::DesiredConfig>& further) {
  auto read = on_hub(addon::read_addon_rollout(hub, name, further));
  if (read || read.error().category != Category::kNotFound || read.error().code != 0) return read;
  return tl::unexpected(read.error().with_hint(near_addons(hub, name)));
}

void bind_allow_many(FlagSet& flags, bool* into) {
  flags.boolean(into, "allow-many", "Allow any number of clusters to change at once, without asking");
}

void bind_addon_guard(FlagSet& flags, AddonGuardOptions& options) {
  bind_allow_many(flags, &options.many);
  flags.boolean(&options.yes, "yes", "Skip the confirmation prompt at a terminal", 'y');
  flags.boolean(&options.plan, "plan", "Show which clusters would change, in which order, and change nothing");
}

std::string reach_of(const addon::AddonRolloutPlan& plan) {
  if (plan.clusters.empty()) return "no cluster changes";
  return pluralize(static_cast<std::uint64_t>(plan.clusters.size()), "cluster") +
         (plan.clusters.size() == 1 ? " changes" : " change, " + std::to_string(plan.at_once()) + " at once");
}

Result<std::optional<Report>> guard_addon_change(Context& context, const AddonGuardOptions& options, const std::string& what,
                                                 const addon::PreparedChange& prepared, std::vector<std::string>& notes) {
  if (options.plan) return addon_plan_report(what, prepared);
  const std::size_t at_once = prepared.plan.at_once();
  if (options.many || at_once <= kAtOnce) return std::nullopt;
  const std::string reach = what + " would change " + std::to_string(at_once) +
                            " clusters at once (limit without --allow-many: " + std::to_string(kAtOnce) + ")";
  if (is_dry(context)) {
    notes.push_back(reach);
    return std::nullopt;
  }
  FLEETADM_CHECK(allow_reach(context, options.yes, {reach, "--allow-many", "ManyClusters"}));
  return std::nullopt;
}

}  // namespace fleetadm::commands
