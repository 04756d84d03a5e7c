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

/// No text: it is within the limits. One cluster is never too large a share.
Reach excessive_loss(const WorkGuardOptions& limits, const std::string& what, const work::Removals& removals) {
  const auto lost = static_cast<std::int64_t>(removals.clusters.size());
  const bool share = lost > 1 && lost * 100 > limits.share * removals.of;
  if (!share && removals.objects <= limits.objects) return {};
  return {what + " would delete " + pluralize(static_cast<std::uint64_t>(removals.objects), "object") + " on " +
              std::to_string(lost) + " of " + std::to_string(removals.of) + " clusters that have the add-on (limits without " +
              "--allow-removals: " + std::to_string(limits.share) + "%, " + std::to_string(limits.objects) + " objects)",
          "--allow-removals", "RemovalsNotAllowed"};
}

Report addon_plan_report(const std::string& what, const addon::PreparedChange& prepared) {
  const addon::AddonRolloutPlan& plan = prepared.plan;
  Report report;
  report.table = Table{{{"STEP"}, {"CLUSTER"}, {"PLACEMENT"}, {"GROUP"}, {"AFTER"}}, {}, "No cluster changes."};
  report.data = {{"kind", "AddonRolloutPlan"},
                 {"name", prepared.change.addon},
                 {"change", what},
                 {"changes", Json::array()},
                 {"steps", plan.steps()},
                 {"atOnce", plan.at_once()},
                 {"unchanged", plan.unchanged},
                 {"removals", {{"clusters", prepared.removals.clusters}, {"objects", prepared.removals.objects}}},
                 {"clusters", Json::array()},
                 {"waiting", plan.waiting}};
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
  if (prepared.removals.objects > 0) {
    report.notes.push_back(pluralize(static_cast<std::uint64_t>(prepared.removals.objects), "object") + " would be deleted on " +
                           work::some_names(prepared.removals.clusters) + ".");
  }
  if (prepared.unrendered) report.notes.push_back("It cannot be rendered: " + prepared.unrendered->message + ".");
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

void bind_addon_guard(FlagSet& flags, AddonGuardOptions& options) {
  bind_work_guard(flags, options.removals);
  flags.boolean(&options.many, "allow-many", "Allow any number of clusters to change at once, without asking");
}

Status validate_addon_guard(const AddonGuardOptions& options) { return validate_work_guard(options.removals); }

std::string reach_of(const addon::AddonRolloutPlan& plan) {
  if (plan.clusters.empty()) return "no cluster changes";
  return pluralize(static_cast<std::uint64_t>(plan.clusters.size()), "cluster") +
         (plan.clusters.size() == 1 ? " changes" : " change, " + std::to_string(plan.at_once()) + " at once");
}

Result<std::optional<Report>> guard_addon_change(Context& context, const AddonGuardOptions& options, const std::string& what,
                                                 const addon::PreparedChange& prepared, std::vector<std::string>& notes) {
  const GuardOptions& guard = options.removals.guard;
  if (guard.plan) return addon_plan_report(what, prepared);
  if (prepared.unrendered) return fail(prepared.unrendered->wrap(what + " would leave an add-on that cannot be rendered"));
  std::vector<Reach> reaches;
  if (Reach loss = excessive_loss(options.removals, what, prepared.removals); !loss.text.empty() && !guard.allow)
    reaches.push_back(std::move(loss));
  if (const std::size_t at_once = prepared.plan.at_once(); !options.many && at_once > kAtOnce) {
    reaches.push_back({what + " would change " + std::to_string(at_once) +
                           " clusters at once (limit without --allow-many: " + std::to_string(kAtOnce) + ")",
                       "--allow-many", "ManyClusters"});
  }
  for (const Reach& reach : reaches) {
    if (is_dry(context)) {
      notes.push_back(reach.text);
    } else {
      FLEETADM_CHECK(allow_reach(context, guard.yes, reach));
    }
  }
  return std::nullopt;
}

}  // namespace fleetadm::commands
