// rollout run: the hub's own controller in this process, for one set, until the rollout ends.
#include <thread>

#include "commands/framework/grammar.h"
#include "commands/rollout/rollout.h"
#include "commands/rollout/view.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "core/hub/hub.h"
#include "core/work/hub/replica_set.h"

namespace fleetadm::commands {
namespace {

struct RunOptions {
  Duration timeout = kNoTimeout;
};

/// Two controllers would begin clusters without knowing of each other.
Status nobody_else(const kube::Client& hub, Instant now) {
  FLEETADM_TRY(const std::optional<Json> lease,
               hub.find(kube::resources::leases(), std::string(api::kHubNamespace), std::string(hub::kLeaderLease)));
  if (!lease || str(*lease, {"spec", "holderIdentity"}).empty()) return {};
  const std::optional<Instant> renewed = parse_time(str(*lease, {"spec", "renewTime"}));
  const Duration lasts = std::chrono::seconds(num(*lease, {"spec", "leaseDurationSeconds"}, 15));
  if (!renewed || *renewed + lasts < now) return {};
  return fail(
      Category::kConflict,
      "the hub controllers are running (" + str(*lease, {"spec", "holderIdentity"}) + ") and already control this rollout",
      "watch it with: fleetadm rollout status -w");
}

Result<Report> run_rollout(Context& context, const RunOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const RolloutName name, rollout_name(context, args.front()));
  if (context.global().dry_run != kube::DryRun::kNone) {
    return fail(Category::kUsage, "\"rollout run\" does not support --dry-run",
                "see what would happen with: fleetadm rollout plan");
  }
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const Json set, read_set(hub, name));
  FLEETADM_CHECK(nobody_else(hub, context.clock().now()));
  controller::Manager::Options manager_options;
  manager_options.threads = 1;
  controller::Manager manager(manager_options);
  work::add_replica_set_controller(manager, hub, Clock::system(), kube::object_key(set));
  std::stop_source stop;
  Status ran;
  std::jthread driver([&] { ran = manager.run(stop.get_token()); });
  Result<Report> report = watch_rollout(context, hub, name, options.timeout);
  stop.request_stop();
  driver.join();
  if (!ran) return tl::unexpected(ran.error());
  if (!report && report.error().category == Category::kCancelled) {
    return fail(Category::kCancelled, "cancelled; progress is stored on the hub, run the same command again to continue");
  }
  return report;
}

}  // namespace

void register_rollout_run(Registry& registry) {
  Command command;
  command.path = "rollout run";
  command.group = "Work";
  command.summary = "Run a rollout from this process until it ends";
  command.description =
      "For hubs without a ManifestWorkReplicaSet controller; usually run in a Job. "
      "It runs the hub's own controller for this rollout only. All progress is stored on the hub, "
      "so an interrupted run continues where it left off. It refuses to run while fleetadm's hub "
      "controllers hold their lease. Exit codes are those of \"rollout status\".";
  command.args = {"NAME", 1, 1, false, Complete::kRollouts};
  command.examples = {{"In a Job", "fleetadm rollout run web -n apps --timeout 1h"}};
  command.make = invocation<RunOptions>(
      [](FlagSet& flags, RunOptions& options) { timeout_flag(flags, &options.timeout, "maximum duration of the run"); },
      [](const RunOptions&, const std::vector<std::string>&) -> Status { return {}; }, run_rollout);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
