#include "commands/work/guard.h"

#include "core/api/kinds.h"
#include "core/work/diff.h"
#include "core/work/preview.h"

namespace fleetadm::commands {
namespace {

Error refused(const std::string& why) {
  Error error = fail(Category::kConflict, why, "if that is meant, say --allow-removals").value();
  error.reason = "RemovalsNotAllowed";
  return error;
}

}  // namespace

void bind_guard(FlagSet& flags, GuardOptions& options) {
  flags.boolean(&options.allow, "allow-removals", "take works and objects away, however many");
  Flag& share = flags.integer(&options.share, "max-removed-clusters",
                              "per cent of the clusters that may lose the work without --allow-removals");
  share.value_name = "PERCENT";
  share.default_text = "20";
  Flag& objects = flags.integer(&options.objects, "max-removed-objects",
                                "objects that may be deleted, on all clusters together, without --allow-removals");
  objects.value_name = "N";
  objects.default_text = "100";
}

Status validate_guard(const GuardOptions& options) {
  if (options.share < 0 || options.share > 100) return fail(Category::kUsage, "--max-removed-clusters takes 0 to 100 per cent");
  if (options.objects < 0) return fail(Category::kUsage, "--max-removed-objects cannot be negative");
  return {};
}

Status check_removals(const kube::Client& hub, const GuardOptions& options, const std::string& what, const Removals& removals) {
  if (options.allow) return {};
  if (removals.objects > options.objects) {
    return tl::unexpected(refused(what + " deletes " + std::to_string(removals.objects) +
                                  " objects; without being told so, at most " + std::to_string(options.objects) +
                                  " are deleted"));
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
    return tl::unexpected(refused(what + " takes works from " + std::to_string(lost) +
                                  " clusters, and of how many could not be read: " + counted.error().message));
  }
  if (lost * 100 <= options.share * all) return {};
  return tl::unexpected(refused(what + " takes works from " + std::to_string(lost) + " of " + std::to_string(all) +
                                (removals.of > 0 ? " clusters that have it" : " clusters") +
                                "; without being told so, from at most " + std::to_string(options.share) + " %"));
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
