#include "commands/rollout/addon_control.h"

#include <algorithm>
#include <set>

#include "commands/framework/addon_change.h"
#include "commands/framework/caller.h"
#include "commands/framework/write_report.h"
#include "commands/rollout/addon_history.h"
#include "commands/rollout/addon_status.h"
#include "core/api/kinds.h"
#include "core/work/rules/conditions.h"
#include "kubeclient/base/plural.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::commands {
namespace {

using work::Phase;

Status annotate_addon(Json& declaration, std::string_view key, const std::string& value) {
  if (value.empty()) {
    erase_at(declaration, {"metadata", "annotations", key});
  } else {
    at_or_make(declaration, {"metadata", "annotations", key}) = value;
  }
  return {};
}

Report addon_said(const Context& context, const std::string& addon, Json declaration, const std::string& what) {
  Report report;
  report.data = std::move(declaration);
  report.lines.push_back("rollout addon/" + addon + " " + what + dry_run_mark(context));
  report.names.push_back(full_name(api::cluster_management_addons(), addon));
  return report;
}

/// No placement's progression tells of progress any more; or, `paused` false, none tells of a pause.
bool tells_pause(const Json& declaration, bool paused) {
  const Json& progressions = list_at(declaration, {"status", "installProgressions"});
  return std::all_of(progressions.begin(), progressions.end(), [&](const Json& one) {
    const Json* progressing = work::condition_in(list_at(one, {"conditions"}), "Progressing");
    const std::string reason = progressing == nullptr ? std::string() : str(*progressing, {"reason"});
    return paused ? !reason.empty() && reason != "Progressing" : reason != "Paused";
  });
}

Status check_managed(const Json& declaration) {
  if (addon::is_managed(declaration)) return {};
  return fail(Category::kUnsupported, "add-on \"" + name_of(declaration) + "\" is rolled out by its own manager");
}

Status await_pause(Context& context, const kube::Client& hub, const std::string& addon, bool paused,
                   const std::optional<Duration>& confirm) {
  if (!confirm || is_dry(context)) return {};
  const auto reached = [&](const std::optional<Json>& declaration) -> Result<bool> {
    if (!declaration) return fail(Category::kNotFound, "add-on \"" + addon + "\" was deleted");
    return tells_pause(*declaration, paused);
  };
  const auto done = kube::wait_for(hub, api::cluster_management_addons(), "", addon, reached, *confirm, context.stop());
  if (done) return {};
  if (done.error().category != Category::kTimeout) return tl::unexpected(done.error());
  return fail(Category::kTimeout, "the change was requested but not confirmed by the hub within " + format_duration(*confirm),
              "check that fleetadm's hub controllers are running; upstream's controllers do not support pause");
}

/// Clusters that have begun with what is rolled out, whatever became of it.
std::size_t begun_in(const addon::RolloutStanding& standing) {
  return standing.clusters.size() - standing.count(Phase::kWaiting) - standing.count(Phase::kBeginning) -
         standing.count(Phase::kSkipped);
}

std::set<std::string> complete_placements(const addon::RolloutStanding& standing) {
  std::set<std::string> complete;
  for (const addon::ClusterStanding& one : standing.clusters) complete.insert(one.placement);
  for (const addon::ClusterStanding& one : standing.clusters) {
    if (one.phase != Phase::kDone) complete.erase(one.placement);
  }
  return complete;
}

/// The last one that every cluster had and that differs from what is rolled out now.
const addon::AddonRevision* last_good(const std::vector<addon::AddonRevision>& revisions, const addon::RevisionConfigs& now) {
  const auto found = std::find_if(revisions.rbegin(), revisions.rend(), [&](const addon::AddonRevision& one) {
    return one.finished && !one.aborted && !addon::same_configs(one.configs, now);
  });
  return found == revisions.rend() ? nullptr : &*found;
}

}  // namespace

Result<Report> pause_addon(Context& context, const std::string& addon, const std::optional<Duration>& confirm) {
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const Json before, declaration_of(hub, addon));
  FLEETADM_CHECK(check_managed(before));
  const bool already = work::control_of(before).paused;
  FLEETADM_TRY(Json stored, addon::modify_declaration(hub, addon, [](Json& declaration) {
                 return annotate_addon(declaration, work::kPausedAnnotation, "true");
               }));
  FLEETADM_CHECK(await_pause(context, hub, addon, true, confirm));
  return addon_said(context, addon, std::move(stored), already ? "is already paused" : "paused");
}

Result<Report> resume_addon(Context& context, const std::string& addon, const std::optional<Duration>& confirm) {
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(Json before, declaration_of(hub, addon));
  if (!work::control_of(before).paused) return addon_said(context, addon, std::move(before), "is not paused");
  FLEETADM_TRY(Json stored, addon::modify_declaration(hub, addon, [](Json& declaration) {
                 return annotate_addon(declaration, work::kPausedAnnotation, {});
               }));
  FLEETADM_CHECK(await_pause(context, hub, addon, false, confirm));
  return addon_said(context, addon, std::move(stored), "resumed");
}

Result<Report> abort_addon(Context& context, const std::string& addon) {
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const AddonHistory history, read_addon_history(hub, addon, context.clock().now()));
  const std::string undo_hint = "to return to the previous revision: fleetadm rollout undo addon/" + addon;
  if (state_of(history.standing) == RolloutState::kDone)
    return fail(Category::kConflict, "rollout addon/" + addon + " is complete; there is nothing to abort", undo_hint);
  const addon::AddonRevision* good = last_good(history.revisions, history.standing.configs);
  if (good == nullptr) {
    return fail(Category::kConflict, "rollout addon/" + addon + " has no earlier revision that every cluster had",
                "stop it with: fleetadm rollout pause addon/" + addon);
  }
  addon::RevisionConfigs target = good->configs;
  for (const std::string& placement : complete_placements(history.standing)) {
    const auto now = history.standing.configs.placements.find(placement);
    if (now != history.standing.configs.placements.end()) target.placements[placement] = now->second;
  }
  const std::int64_t given_up = history.number_now();
  FLEETADM_TRY(addon::PreparedChange prepared, prepare_undo(context, hub, history, addon, target, {good->number, true}));
  FLEETADM_TRY(Json stored, addon::carry_out_change(hub, prepared, context.clock().now()));
  const std::string what = given_up > 0 ? "aborted: revision " + std::to_string(given_up) + " is given up" : "aborted";
  Report report = addon_said(context, addon, std::move(stored), what);
  for (const addon::ConfigChange& one : prepared.changes) report.lines.push_back(one.text());
  const auto went_back = static_cast<std::uint64_t>(begun_in(history.standing));
  report.notes.push_back("Set back to revision " + std::to_string(good->number) + ", which every cluster had. " +
                         pluralize(went_back, "cluster") +
                         " had begun; where the configuration changed back, it is rolled out "
                         "with the same strategy.");
  if (history.standing.paused) report.notes.push_back("The rollout is no longer paused.");
  return report;
}

Result<Report> restart_addon(Context& context, const std::string& addon, bool failed) {
  FLEETADM_TRY(const kube::Client hub, context.client());
  const Instant now = context.clock().now();
  FLEETADM_TRY(const AddonHistory history, read_addon_history(hub, addon, now));
  const addon::AddonRevision* aborted = history.aborted_before();
  const std::size_t tries = history.standing.count(Phase::kFailed) + history.standing.count(Phase::kTimedOut);
  if (tries > 0 && !failed) {
    return fail(Category::kUsage, "rollout addon/" + addon + " has failed clusters",
                "show them with: fleetadm rollout status addon/" + addon + "; retry them with --failed");
  }
  if (aborted == nullptr && tries == 0) {
    return addon_said(context, addon, *history.read.declaration(addon), "has no failed clusters; nothing was restarted");
  }
  std::string what = "restarted";
  Json stored;
  if (aborted != nullptr) {
    FLEETADM_TRY(const addon::PreparedChange prepared,
                 prepare_undo(context, hub, history, addon, aborted->configs, {aborted->number, false}));
    FLEETADM_TRY(stored, addon::carry_out_change(hub, prepared, now));
    what += " with the configurations of revision " + std::to_string(aborted->number);
  }
  if (tries > 0) {
    FLEETADM_TRY(stored, addon::modify_declaration(hub, addon, [&](Json& declaration) {
                   return annotate_addon(declaration, work::kRetryAnnotation, format_micro_time(now));
                 }));
    what += "; retrying " + pluralize(static_cast<std::uint64_t>(tries), "cluster");
  }
  Report report = addon_said(context, addon, std::move(stored), what);
  if (history.standing.paused)
    report.notes.push_back("The rollout is still paused; continue it with: fleetadm rollout resume addon/" + addon);
  return report;
}

}  // namespace fleetadm::commands
