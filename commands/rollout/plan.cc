// rollout plan: which clusters in which order and batch, and what happens there, before anything is written.
#include <algorithm>

#include "commands/framework/listing.h"
#include "commands/framework/targets.h"
#include "commands/rollout/change.h"
#include "commands/rollout/rollout.h"
#include "core/api/kinds.h"
#include "core/work/plan/replica_set_forecast.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

using What = work::ForecastEvent::What;

bool is_write(What what) { return what == What::kCreated || what == What::kChanged || what == What::kRemoved; }

std::string group_word(const rollout::GroupKey& group) { return group.name.empty() ? std::to_string(group.index) : group.name; }

Report report_of(const std::string& name, const work::Forecast& ahead) {
  Report report;
  report.table = Table{{{"BATCH"}, {"CLUSTER"}, {"ACTION"}, {"GROUP"}, {"PLACEMENT", true}}, {}, "No changes."};
  Json steps = Json::array();
  int batches = 0;
  std::map<What, int> counts;
  for (const work::ForecastEvent& event : ahead.events) {
    if (!is_write(event.what)) continue;
    ++counts[event.what];
    batches = std::max(batches, event.batch);
    const bool removes = event.what == What::kRemoved;
    report.table->rows.push_back({removes ? "<none>" : std::to_string(event.batch), event.cluster,
                                  std::string(to_string(event.what)), removes ? "<none>" : group_word(event.group),
                                  or_none(event.placement)});
    Json step{{"cluster", event.cluster}, {"action", to_string(event.what)}, {"placement", event.placement}};
    if (!removes) {
      step["batch"] = event.batch;
      step["group"] = {{"name", event.group.name}, {"index", event.group.index}};
    }
    steps.push_back(std::move(step));
  }
  report.data = Json{{"kind", "RolloutPlan"}, {"name", name}, {"batches", batches}, {"steps", std::move(steps)}};
  report.notes.push_back("Rollout " + name + ": " + pluralize(static_cast<std::uint64_t>(batches), "batch") + ", " +
                         std::to_string(counts[What::kCreated]) + " to create, " + std::to_string(counts[What::kChanged]) +
                         " to change, " + std::to_string(counts[What::kRemoved]) +
                         " to remove, if every cluster succeeds. Nothing has been written.");
  if (!ahead.complete) {
    const std::string why = ahead.end.missing_placement.empty() ? work::rollout_sentence(ahead.end, std::nullopt)
                                                                : "placement " + ahead.end.missing_placement + " does not exist";
    report.notes.push_back("The rollout would still be incomplete: " + why);
  }
  return report;
}

Result<Report> run_plan(Context& context, const ChangeOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const RolloutChange change, read_change(context, options, args.front()));
  const RolloutName& name = change.name;
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_CHECK(check_placement(hub, change));
  const Instant now = context.clock().now();
  // With a placement it may be a rollout that is yet to be started.
  Json set = empty_set(name);
  if (change.placement.empty()) {
    FLEETADM_TRY(set, read_set(hub, name));
  } else {
    Result<std::optional<Json>> before = hub.find(api::manifest_work_replica_sets(), name.ns, name.name);
    if (!before) return tl::unexpected(on_hub(before.error()));
    if (*before) set = std::move(**before);
  }
  FLEETADM_TRY(const RolloutView before, view_rollout(hub, set, now));
  FLEETADM_CHECK(change.apply_to(set));
  FLEETADM_CHECK(check_first(hub, set, change.placement, change.strategy));
  const bool paused = before.plan.paused;
  erase_at(set, {"metadata", "annotations", work::kPausedAnnotation});
  FLEETADM_TRY(const RolloutView view, view_rollout(hub, std::move(set), now));
  const work::Assume success = [](const std::string&) { return work::Assumption{}; };
  Report report = report_of(name.name, work::forecast(view.set, view.placements, view.works, view.revision, now, success));
  if (paused)
    report.notes.push_back("The rollout is paused; start it with: fleetadm rollout resume " + name.name + " -n " + name.ns);
  FLEETADM_TRY(const work::Removals removals, removals_of(hub, before, view.set));
  if (const std::string excess = excess_of(hub, WorkGuardOptions{}, "it", removals); !excess.empty())
    report.notes.push_back("\"rollout start\" will require --allow-removals: " + excess);
  return report;
}

}  // namespace

void register_rollout_plan(Registry& registry) {
  Command command;
  command.path = "rollout plan";
  command.group = "Work";
  command.summary = "Show which clusters a rollout would change, in which order and batch";
  command.description =
      "Simulates the rollout to its end using the hub's rules, assuming that every cluster succeeds. "
      "Without flags, it shows the remaining steps of the current rollout; with -f, --placement or "
      "strategy flags, what \"rollout start\" would do with the same flags. Nothing is written.";
  command.args = {"NAME", 1, 1, false, Complete::kRollouts};
  command.examples = {{"The remaining steps", "fleetadm rollout plan web -n apps"},
                      {"What new manifests would do", "fleetadm rollout plan web -n apps -f web.yaml"},
                      {"A rollout that has not been started yet",
                       "fleetadm rollout plan web -f web.yaml --placement apps/eu --max-concurrency 25%"}};
  command.make = invocation<ChangeOptions>(
      bind_change, [](const ChangeOptions& options, const std::vector<std::string>&) { return validate_change(options); },
      run_plan);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
