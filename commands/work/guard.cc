#include "commands/work/guard.h"

#include "core/api/kinds.h"
#include "core/work/diff.h"
#include "core/work/preview.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

Error refused(const std::string& why) {
  Error error = fail(Category::kConflict, why, "if this is intended, add --allow-removals").value();
  error.reason = "RemovalsNotAllowed";
  return error;
}

}  // namespace

void bind_guard(FlagSet& flags, GuardOptions& options) {
  flags.boolean(&options.allow, "allow-removals", "allow any number of removals");
  Flag& share = flags.integer(&options.share, "max-removed-clusters",
                              "maximum percentage of clusters that may lose the work without --allow-removals");
  share.value_name = "PERCENT";
  share.default_text = "20";
  Flag& objects = flags.integer(&options.objects, "max-removed-objects",
                                "maximum number of objects deleted across all clusters without --allow-removals");
  objects.value_name = "N";
  objects.default_text = "100";
}

Status validate_guard(const GuardOptions& options) {
  if (options.share < 0 || options.share > 100)
    return fail(Category::kUsage, "--max-removed-clusters must be between 0 and 100 percent");
  if (options.objects < 0) return fail(Category::kUsage, "--max-removed-objects cannot be negative");
  return {};
}

Status check_removals(const kube::Client& hub, const GuardOptions& options, const std::string& what, const Removals& removals) {
  if (options.allow) return {};
  if (removals.objects > options.objects) {
    return tl::unexpected(refused(what + " would delete " + pluralize(static_cast<std::uint64_t>(removals.objects), "object") +
                                  " (limit without --allow-removals: " + std::to_string(options.objects) + ")"));
  }
  const auto lost = static_cast<std::int64_t>(removals.clusters.size());
  if (lost <= 1) return {};
  std::int64_t all = removals.of;
  const auto count = [&](const Json&) -> Status {
    ++all;
    return {};
  };
  const Status counted = all > 0 ? Status{} : hub.list_each(api::managed_clusters(), {}, {}, count);
  if (!counted) {
    return tl::unexpected(refused(what + " would remove works from " + std::to_string(lost) +
                                  " clusters, but the total number of clusters could not be read: " + counted.error().message));
  }
  if (lost * 100 <= options.share * all) return {};
  return tl::unexpected(refused(what + " would remove works from " + std::to_string(lost) + " of " + std::to_string(all) +
                                (removals.of > 0 ? " clusters that have it" : " clusters") +
                                " (limit without --allow-removals: " + std::to_string(options.share) + "%)"));
}

std::int64_t deleted_objects(const Json& work_spec, const std::set<std::string>& kept) {
  const Json work{{"spec", work_spec}};
  std::int64_t count = 0;
  for (const work::Manifest& manifest : work::decode_manifests(work, work::guessed_resource)) {
    const bool stays = kept.contains(work::manifest_identity(manifest.object)) || !work::is_owned(work, manifest) ||
                       work::options_for(work, manifest).strategy.type == work::StrategyType::kReadOnly;
    if (!stays) ++count;
  }
  return count;
}

}  // namespace fleetadm::commands
