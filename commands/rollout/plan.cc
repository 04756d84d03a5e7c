// rollout plan: which clusters in which order and batch, and what happens there, before anything is written.
#include <algorithm>

#include "commands/framework/listing.h"
#include "commands/rollout/rollout.h"
#include "commands/rollout/view.h"
#include "commands/work/manifests.h"
#include "core/work/replica_set_forecast.h"

namespace fleetadm::commands {
namespace {

using What = work::ForecastEvent::What;

struct Options {
  std::vector<std::string> files;
};

bool is_write(What what) { return what == What::kCreated || what == What::kChanged || what == What::kRemoved; }

std::string group_word(const rollout::GroupKey& group) { return group.name.empty() ? std::to_string(group.index) : group.name; }

Report report_of(const std::string& name, const work::Forecast& ahead) {
  Report report;
  report.table = Table{{{"BATCH"}, {"CLUSTER"}, {"ACTION"}, {"GROUP"}, {"PLACEMENT", true}}, {}, "nothing would be written"};
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
  report.notes.push_back(name + ": " + std::to_string(batches) + (batches == 1 ? " batch, " : " batches, ") +
                         std::to_string(counts[What::kCreated]) + " to create, " + std::to_string(counts[What::kChanged]) +
                         " to change, " + std::to_string(counts[What::kRemoved]) +
                         " to remove, if every cluster succeeds; nothing has been written");
  if (!ahead.complete) {
    const std::string why = ahead.end.missing_placement.empty() ? work::rollout_sentence(ahead.end, std::nullopt)
                                                                : "placement " + ahead.end.missing_placement + " does not exist";
    report.notes.push_back("it would not be complete then: " + why);
  }
  return report;
}

Result<Report> run(Context& context, const Options& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const RolloutName name, rollout_name(context, args.front()));
  FLEETADM_TRY(const kube::Client hub, context.client());
  const Instant now = context.clock().now();
  FLEETADM_TRY(RolloutView view, read_rollout(hub, name, now));
  const bool paused = view.plan.paused;
  erase_at(view.set, {"metadata", "annotations", work::kPausedAnnotation});
  if (!options.files.empty()) {
    FLEETADM_TRY(const std::vector<LoadedManifest> loaded, load_manifests(context, options.files));
    FLEETADM_CHECK(check_manifests(loaded));
    const std::string before = work::work_spec_hash(object_at(view.set, {"spec", "manifestWorkTemplate"}));
    at_or_make(view.set, {"spec", "manifestWorkTemplate", "workload", "manifests"}) = manifest_list(loaded);
    if (work::work_spec_hash(object_at(view.set, {"spec", "manifestWorkTemplate"})) != before) view.revision.reset();
  }
  const work::Assume success = [](const std::string&) { return work::Assumption{}; };
  Report report = report_of(name.name, work::forecast(view.set, view.placements, view.works, view.revision, now, success));
  if (paused) report.notes.push_back("it is paused: nothing begins before fleetadm rollout resume " + name.name);
  return report;
}

}  // namespace

void register_rollout_plan(Registry& registry) {
  Command command;
  command.path = "rollout plan";
  command.group = "Work";
  command.summary = "Show which clusters a rollout would change, in which order and batch";
  command.description =
      "The hub's own rules are followed to the end, assuming that every cluster succeeds. With -f it shows what other manifests "
      "would do; without, what is left of the present rollout. Nothing is written.";
  command.args = {"NAME", 1, 1, false, Complete::kWorks};
  command.examples = {{"What is still to come", "fleetadm rollout plan web -n apps"},
                      {"What new manifests would do", "fleetadm rollout plan web -n apps -f web.yaml"}};
  command.make = invocation<Options>(
      [](FlagSet& flags, Options& options) {
        Flag& files = flags.texts(&options.files, "filename", "file or folder with the new manifests, or - for stdin", 'f');
        files.value_name = "FILE";
        files.complete = Complete::kFiles;
      },
      [](const Options&, const std::vector<std::string>&) -> Status { return {}; }, run);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
