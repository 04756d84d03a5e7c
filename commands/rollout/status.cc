// rollout status: where each cluster is, who holds the rollout, and for how long that may last.
#include <algorithm>

#include "commands/framework/grammar.h"
#include "commands/framework/listing.h"
#include "commands/rollout/addon_status.h"
#include "commands/rollout/feed.h"
#include "commands/rollout/rollout.h"
#include "core/api/kinds.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"
#include "core/work/rules/progress.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::commands {
namespace {

using work::Phase;

constexpr Duration kTick = std::chrono::seconds(1);  // times to deadlines are told, without asking the hub
constexpr Duration kTickOfMany = std::chrono::seconds(5);
constexpr std::size_t kMany = 200;
constexpr Duration kFailureStays = std::chrono::seconds(3);  // agents try again: what they repair at once was no failure
constexpr std::size_t kBar = 24;

struct StatusOptions {
  bool watch = false;
  Duration timeout = kNoTimeout;
};

std::string left_of(const work::ClusterProgress& one, Instant now) {
  if (!one.until || one.phase == Phase::kTimedOut || one.phase == Phase::kDone) return "<none>";
  return *one.until > now ? format_age(now, *one.until) : "0s";
}

std::string why_of(const RolloutView& view, const work::ClusterProgress& one) {
  const auto live = view.live.find(one.cluster);
  const std::string manifest = live == view.live.end() ? "" : blocking_manifest(live->second, one.condition);
  if (manifest.empty()) return one.why;
  return (one.condition == work::kConditionReady ? "Ready" : one.condition) + ": " + manifest;
}

std::string ready_of(const RolloutView& view, const work::ClusterProgress& one) {
  const auto live = view.live.find(one.cluster);
  return live == view.live.end() ? "<none>" : work::ready_text(live->second);
}

/// Clusters whose agents, as upstream's, report everything but readiness, which this rollout waits for.
std::string silent_clusters(const RolloutView& view) {
  if (work::success_when_of(view.set) != work::SuccessWhen::kReady) return {};
  std::vector<std::string> silent;
  for (const auto& [cluster, one] : view.live) {
    const Json* applied = work::condition_in(list_at(one, {"status", "conditions"}), work::kConditionApplied);
    const bool reported = applied != nullptr && num(*applied, {"observedGeneration"}) == num(one, {"metadata", "generation"});
    if (reported && !work::reports_readiness(one)) silent.push_back(cluster);
  }
  return joined(silent, ", ");
}

/// "c3 has failed for 12s: Applied: Deployment web/page: …, 48s left"; empty where nothing holds.
std::string holder(const RolloutView& view, Instant now) {
  const work::ClusterProgress* one = blocking_cluster(view.plan);
  if (one == nullptr) return {};
  std::string text = one->cluster + " is " + std::string(to_string(one->phase));
  if (one->since) text += " for " + format_age(*one->since, now);
  if (const std::string why = why_of(view, *one); !why.empty()) text += ": " + why;
  if (const std::string left = left_of(*one, now); left != "<none>") text += " (" + left + " left)";
  return text;
}

Json data_of(const RolloutView& view, Instant now) {
  Json clusters = Json::array();
  for (const work::ClusterProgress& one : view.plan.clusters) {
    Json entry{
        {"cluster", one.cluster}, {"placement", one.placement}, {"phase", to_string(one.phase)}, {"ready", ready_of(view, one)}};
    if (one.phase != Phase::kSkipped) entry["group"] = {{"name", one.group.name}, {"index", one.group.index}};
    if (one.since) entry["since"] = format_time(*one.since);
    if (one.until) entry["until"] = format_time(*one.until);
    if (!one.condition.empty()) entry["condition"] = one.condition;
    if (const std::string why = why_of(view, one); !why.empty()) entry["why"] = why;
    clusters.push_back(std::move(entry));
  }
  Json data{{"kind", "RolloutStatus"},
            {"namespace", namespace_of(view.set)},
            {"name", name_of(view.set)},
            {"state", to_string(state_of(view.plan))},
            {"summary", work::rollout_sentence(view.plan, view.revision)},
            {"clusters", std::move(clusters)}};
  if (view.revision) data["revision"] = view.revision->number;
  if (const std::string text = holder(view, now); !text.empty()) data["blocking"] = text;
  return data;
}

std::string sentence(const RolloutView& view) {
  if (!view.plan.missing_placement.empty()) return "placement " + view.plan.missing_placement + " does not exist";
  return std::string(to_string(state_of(view.plan))) + ": " + work::rollout_sentence(view.plan, view.revision);
}

Report report_of(const RolloutView& view, Instant now) {
  Report report;
  report.data = data_of(view, now);
  report.table = Table{{{"CLUSTER"}, {"PLACEMENT", true}, {"GROUP"}, {"PHASE"}, {"READY"}, {"SINCE"}, {"LEFT"}, {"WHY"}},
                       {},
                       "The placements have not selected any clusters."};
  for (const work::ClusterProgress& one : view.plan.clusters) {
    const std::string group = one.group.name.empty() ? std::to_string(one.group.index) : one.group.name;
    report.table->rows.push_back(
        {one.cluster, one.placement, one.phase == Phase::kSkipped ? "<none>" : group, std::string(to_string(one.phase)),
         ready_of(view, one), one.since ? format_age(*one.since, now) : "<none>", left_of(one, now), or_none(why_of(view, one))});
    const std::string why = why_of(view, one);
    report.branches.push_back({name_of(view.set) + ": " + std::string(to_string(state_of(view.plan))),
                               "placement " + one.placement, one.phase == Phase::kSkipped ? "no group" : "group " + group,
                               one.cluster + ": " + std::string(to_string(one.phase)) + (why.empty() ? "" : " (" + why + ")")});
  }
  report.notes.push_back(name_of(view.set) + ": " + sentence(view));
  if (const std::string text = holder(view, now); !text.empty()) report.notes.push_back(text);
  if (const std::string silent = silent_clusters(view); !silent.empty()) {
    report.notes.push_back("Readiness is unknown on " + silent +
                           ": the agents there do not report it, and available works count as successful.");
  }
  report.names.push_back("manifestworkreplicaset.work.open-cluster-management.io/" + name_of(view.set));
  report.exit_code = exit_code_of(state_of(view.plan));
  return report;
}

std::string bar(const work::ReplicaSetPlan& plan) {
  const std::size_t all = std::max<std::size_t>(plan.clusters.size() - plan.count(Phase::kSkipped), 1);
  const std::size_t full = plan.count(Phase::kDone) * kBar / all;
  return "[" + std::string(full, '#') + std::string(kBar - full, '.') + "] ";
}

/// Of one template and one revision: not the end of the rollout before.
bool same_course(const RolloutView& a, const RolloutView& b) {
  return num(a.set, {"metadata", "generation"}) == num(b.set, {"metadata", "generation"}) &&
         a.revision.has_value() == b.revision.has_value() && (!a.revision || a.revision->number == b.revision->number);
}

/// Over for whoever waits: nothing more will happen by itself.
bool ended(RolloutState state) { return state != RolloutState::kRunning; }

Result<Report> run_status(Context& context, const StatusOptions& options, const std::vector<std::string>& args) {
  if (const auto addon = addon_of_rollout(args.front()))
    return addon_rollout_status(context, *addon, options.watch, options.timeout);
  FLEETADM_TRY(const RolloutName name, rollout_name(context, args.front()));
  FLEETADM_TRY(const kube::Client hub, context.client());
  if (options.watch) return watch_rollout(context, hub, name, options.timeout);
  const Instant now = context.clock().now();
  FLEETADM_TRY(const RolloutView view, read_rollout(hub, name, now));
  return report_of(view, now);
}

}  // namespace

Result<Report> watch_rollout(Context& context, const kube::Client& hub, const RolloutName& name, Duration timeout) {
  const Instant begun = context.clock().now();
  const bool terminal = context.terminal().interactive();
  context.progress().begin("Rollout of " + name.name);
  FLEETADM_TRY(const std::unique_ptr<RolloutFeed> feed, RolloutFeed::open(hub, name, context.stop()));
  std::string told;
  Instant last_well = begun;
  for (;;) {
    const Instant now = context.clock().now();
    FLEETADM_TRY(const RolloutView view, feed->view(now));
    const RolloutState state = state_of(view.plan);
    // A template that no revision records has not begun. Hubs of others record none: what has happened there counts.
    const bool others_hub = view.revisions.empty() && !view.plan.clusters.empty();
    const bool recorded =
        view.revision.has_value() || others_hub || state == RolloutState::kPaused || state == RolloutState::kFailed;
    const std::optional<Error> trouble = feed->trouble();
    std::string line = sentence(view);
    if (const std::string text = holder(view, now); !text.empty()) line += "; " + text;
    if (trouble) line += "; the hub does not respond: " + trouble->message;
    context.progress().note(terminal ? bar(view.plan) + line : line);
    if (const std::string steady = sentence(view) + (trouble ? " (unreachable)" : ""); !terminal && steady != told) {
      context.progress().say(name.name + ": " + line);
      told = steady;
    }
    const bool bad = state == RolloutState::kFailed || state == RolloutState::kPartial || state == RolloutState::kTimedOut;
    if (!bad) last_well = now;
    if (recorded && ended(state) && (!bad || now - last_well >= kFailureStays)) {
      // A watch may be behind what this command itself has written: what is told was read.
      FLEETADM_TRY(const RolloutView read, read_rollout(hub, name, now));
      if (state_of(read.plan) == state && same_course(read, view)) {
        context.progress().done(sentence(read));
        return report_of(read, now);
      }
    }
    if (timeout > Duration::zero() && now - begun >= timeout) {
      context.progress().failed("timed out");
      return fail(Category::kTimeout, name.name + " is not done after " + format_duration(timeout) + ": " + line,
                  "to continue watching, run: fleetadm rollout status " + name.name + " -n " + name.ns + " -w");
    }
    if (context.stop().stop_requested()) {
      return fail(Category::kCancelled, "stopped watching; the rollout continues",
                  "to continue watching, run: fleetadm rollout status " + name.name + " -n " + name.ns + " -w");
    }
    // Deadlines pass without any event.
    const Duration tick = view.plan.clusters.size() > kMany ? kTickOfMany : kTick;
    const Duration left = timeout > Duration::zero() ? std::max<Duration>(begun + timeout - now, Duration::zero()) : tick;
    feed->wait(std::min(tick, left), context.stop());
  }
}

void register_rollout_status(Registry& registry) {
  Command command;
  command.path = "rollout status";
  command.group = "Work";
  command.summary = "Show a rollout's progress and what is blocking it";
  command.description =
      "Prints one row per cluster; for what is blocking the rollout it shows the manifest, "
      "its condition, for how long, and the time left until the deadline. With -w, it waits for the end, "
      "showing a progress bar on a terminal and otherwise one line per change on standard error. addon/NAME is the rollout of "
      "an add-on's configuration.\n\n"
      "Exit codes: 0 done, 1 failed or aborted, 3 finished with tolerated failures, 6 timed out, "
      "7 paused, 8 in progress.";
  command.args = {"NAME", 1, 1, false, Complete::kRollouts, {kAddonPrefix}};
  command.examples = {{"Show the current progress", "fleetadm rollout status web -n apps"},
                      {"Placements, groups and clusters as a tree", "fleetadm rollout status web -n apps -o tree"},
                      {"Wait for the end in a Job", "fleetadm rollout status web -n apps -w --timeout 30m"},
                      {"The configuration of an add-on", "fleetadm rollout status addon/hello"}};
  command.tree = true;
  command.make = invocation<StatusOptions>(
      [](FlagSet& flags, StatusOptions& options) {
        flags.boolean(&options.watch, "watch", "wait until it is done, failed, timed out or paused", 'w');
        timeout_flag(flags, &options.timeout, "how long -w waits");
      },
      [](const StatusOptions&, const std::vector<std::string>& args) { return check_rollout_name(args); }, run_status);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
