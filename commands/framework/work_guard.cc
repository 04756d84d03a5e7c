#include "commands/framework/work_guard.h"

#include "commands/framework/dry_run.h"
#include "core/api/kinds.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

Result<std::int64_t> clusters_on(const kube::Client& hub) {
  std::int64_t all = 0;
  FLEETADM_CHECK(hub.list_each(api::managed_clusters(), {}, {}, [&](const Json&) -> Status {
    ++all;
    return {};
  }));
  return all;
}

}  // namespace

void bind_work_guard(FlagSet& flags, WorkGuardOptions& options) {
  bind_guard(flags, options.guard);
  Flag& share = flags.integer(&options.share, "max-removed-clusters",
                              "maximum percentage of clusters that may lose the work without --allow-removals");
  share.value_name = "PERCENT";
  share.default_text = "20";
  Flag& objects = flags.integer(&options.objects, "max-removed-objects",
                                "maximum number of objects deleted across all clusters without --allow-removals");
  objects.value_name = "N";
  objects.default_text = "100";
}

Status validate_work_guard(const WorkGuardOptions& options) {
  if (options.share < 0 || options.share > 100)
    return fail(Category::kUsage, "--max-removed-clusters must be between 0 and 100 percent");
  if (options.objects < 0) return fail(Category::kUsage, "--max-removed-objects cannot be negative");
  return {};
}

std::string excess_of(const kube::Client& hub, const WorkGuardOptions& options, const std::string& what,
                      const work::Removals& removals) {
  if (removals.objects > options.objects) {
    return what + " would delete " + pluralize(static_cast<std::uint64_t>(removals.objects), "object") +
           " (limit without --allow-removals: " + std::to_string(options.objects) + ")";
  }
  const auto lost = static_cast<std::int64_t>(removals.clusters.size());
  if (lost <= 1) return {};
  const Result<std::int64_t> all = removals.of > 0 ? Result<std::int64_t>(removals.of) : clusters_on(hub);
  if (!all) {
    return what + " would remove works from " + std::to_string(lost) +
           " clusters, but the total number of clusters could not be read: " + all.error().message;
  }
  if (lost * 100 <= options.share * *all) return {};
  return what + " would remove works from " + std::to_string(lost) + " of " + std::to_string(*all) +
         (removals.of > 0 ? " clusters that have it" : " clusters") +
         " (limit without --allow-removals: " + std::to_string(options.share) + "%)";
}

Status check_removals(Context& context, const kube::Client& hub, const WorkGuardOptions& options, const std::string& what,
                      const work::Removals& removals, std::vector<std::string>& notes) {
  if (options.guard.allow) return {};
  const std::string excess = excess_of(hub, options, what, removals);
  if (excess.empty()) return {};
  if (is_dry(context)) notes.push_back(excess);
  return allow_removals(context, options.guard, excess);
}

Result<Report> removal_plan(const kube::Client& hub, const std::string& what, const std::string& work,
                            const work::Removals& removals) {
  work::Impact impact;
  FLEETADM_TRY(const std::int64_t all, clusters_on(hub));
  impact.clusters = static_cast<std::size_t>(all);
  for (const std::string& cluster : removals.clusters)
    impact.lost.push_back({work::LostWork::Effect::kRemoved, cluster, work, ""});
  Report report = plan_report(what, impact);
  report.data["objects"] = removals.objects;
  if (removals.objects > 0)
    report.notes.push_back(pluralize(static_cast<std::uint64_t>(removals.objects), "object") + " would be deleted");
  return report;
}

}  // namespace fleetadm::commands
