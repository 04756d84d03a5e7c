#include "commands/fleet/upgrade_fleet.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "commands/fleet/upgrade_hosted.h"
#include "commands/fleet/upgrade_targets.h"
#include "commands/framework/dry_run.h"
#include "commands/framework/image.h"
#include "commands/framework/watched.h"
#include "core/api/agent_version.h"
#include "core/api/kinds.h"
#include "core/rollout/engine.h"
#include "core/rollout/strategy.h"
#include "core/upgrade/agent_work.h"
#include "core/upgrade/member.h"
#include "core/upgrade/versions.h"
#include "core/work/rules/replica_set_state.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

constexpr Duration kFirstLists = std::chrono::seconds(30);
constexpr Duration kLook = std::chrono::seconds(10);  // for deadlines, where nothing else happens
constexpr std::string_view kCarefully = "25%";        // of the clusters at a time

/// One upgrade of a fleet.
class FleetUpgrade {
 public:
  FleetUpgrade(Context& context, const kube::Client& hub, UpgradeTarget target, FleetTargets targets, rollout::Strategy strategy)
      : context_(context),
        hub_(hub),
        target_(std::move(target)),
        targets_(std::move(targets)),
        strategy_(std::move(strategy)),
        watched_(hub),
        hosted_(hub, target_) {
    clusters_ = watched_.add(api::managed_clusters(), {});
    kube::InformerOptions works;
    works.field_selector = "metadata.name=" + std::string(upgrade::kAgentWork);
    works_ = watched_.add(api::manifest_works(), std::move(works));
  }

  /// Sets those aside whose agents run elsewhere.
  Status start();

  /// Looks at every cluster anew.
  Status look(Instant now);
  /// Until every cluster has had its turn, or too many have failed.
  Status roll();

  std::vector<std::string> plan_lines() const;
  Report report(const std::string& kind) const;
  std::size_t size() const { return targets_.clusters.size(); }
  std::size_t outstanding() const { return targets_.clusters.size() - count(rollout::State::kSucceeded); }

 private:
  /// The same for every cluster that gets these objects.
  struct Content {
    Json work;
    std::string hash;
  };
  struct Known {
    upgrade::Member member;
    upgrade::WantedAgent wanted;
    upgrade::AgentObjects objects = upgrade::AgentObjects::kImage;  // of the wanted work
    std::string told;
    bool exists = false;  // on the hub
    std::optional<Instant> finished;
    bool timed_out = false;
    std::string error;  // of the hub, when the work was written
  };

  Result<const Content*> content(upgrade::AgentObjects objects);
  Status judge(const std::string& name, Instant now);
  Status begin(const std::string& name, Instant now);
  Status finish(const std::string& name, Instant now);
  bool over(const rollout::Step& step) const;
  std::size_t count(rollout::State state) const;
  std::string note() const;
  std::string state_text(const Known& known) const;

  Context& context_;
  kube::Client hub_;
  UpgradeTarget target_;
  FleetTargets targets_;
  rollout::Strategy strategy_;
  Watched watched_;
  std::size_t clusters_ = 0;
  std::size_t works_ = 0;
  std::map<upgrade::AgentObjects, Content> contents_;
  std::map<std::string, Known> known_;
  HostedTargets hosted_;
  Instant started_{};  // the deadline of what a former run has begun runs anew from here
  bool breach_ = false;
};

Status FleetUpgrade::start() {
  FLEETADM_CHECK(watched_.start(kFirstLists, context_.stop()));
  hosted_.find(watched_.objects(clusters_), targets_.clusters);
  const auto is_hosted = [this](const std::string& name) { return hosted_.contains(name); };
  std::erase_if(targets_.clusters, is_hosted);
  for (rollout::Group& group : targets_.groups) std::erase_if(group.clusters, is_hosted);
  return {};
}

/// A program of another version is not known to bring anything but its image; one that tells its version is fleetadm's.
upgrade::AgentObjects objects_for(const UpgradeTarget& target, const std::string& told) {
  if (!target.whole) return upgrade::AgentObjects::kImage;
  return told.empty() ? upgrade::AgentObjects::kDeployment : upgrade::AgentObjects::kAll;
}

Result<const FleetUpgrade::Content*> FleetUpgrade::content(upgrade::AgentObjects objects) {
  auto known = contents_.find(objects);
  if (known == contents_.end()) {
    FLEETADM_TRY(Json work, upgrade::agent_work({}, target_.image, objects, context_.clock().now()));
    std::string hash = upgrade::workload_hash(work);
    known = contents_.emplace(objects, Content{std::move(work), std::move(hash)}).first;
  }
  return &known->second;
}

Status FleetUpgrade::judge(const std::string& name, Instant now) {
  Known& known = known_[name];
  const std::optional<Json> cluster = watched_.find(clusters_, "", name);
  known.exists = cluster.has_value();
  if (!cluster) {
    known.member = {rollout::State::kFailed, now, "the cluster is not on the hub any more", false};
    return {};
  }
  const std::optional<Json> work = watched_.find(works_, name, std::string(upgrade::kAgentWork));
  known.told = api::agent_version(*cluster);
  // What was begun is judged by what it was begun with: its agent may tell its version in between.
  const bool begun = work && upgrade::workload_hash(*work) == known.wanted.workload_hash;
  if (!begun && !known.finished) {
    known.objects = objects_for(target_, known.told);
    // A run that was stopped may have begun it when the agent did not tell its version yet.
    if (work && target_.whole) {
      FLEETADM_TRY(const Content* other, content(upgrade::AgentObjects::kDeployment));
      if (upgrade::workload_hash(*work) == other->hash) known.objects = upgrade::AgentObjects::kDeployment;
    }
    FLEETADM_TRY(const Content* wanted, content(known.objects));
    known.wanted = {target_.version, wanted->hash, target_.version == FLEETADM_VERSION, !target_.named};
  }
  known.member = upgrade::judge_member(*cluster, work, known.wanted, known.finished, now);
  if (known.member.state == rollout::State::kProgressing && known.member.since)
    known.member.since = std::max(*known.member.since, started_);
  if (known.member.state == rollout::State::kSucceeded) {
    known.timed_out = false;
  } else if (known.timed_out) {
    known.member.state = rollout::State::kTimeOut;
  }
  if (!known.error.empty() && known.member.state == rollout::State::kToApply)
    known.member = {rollout::State::kFailed, now, known.error, false};
  return {};
}

Status FleetUpgrade::look(Instant now) {
  for (const std::string& name : targets_.clusters) FLEETADM_CHECK(judge(name, now));
  return {};
}

Status FleetUpgrade::begin(const std::string& name, Instant now) {
  Known& known = known_[name];
  FLEETADM_TRY(const Content* wanted, content(known.objects));
  Json work = wanted->work;
  work["metadata"]["namespace"] = name;
  const std::string begun = format_time(now);
  at_or_make(work, {"metadata", "annotations", work::kBegunAnnotation}) = begun;
  auto written = hub_.create_or_get(api::manifest_works(), name, work);
  if (written && upgrade::workload_hash(*written) != known.wanted.workload_hash) {
    written = hub_.modify(api::manifest_works(), name, upgrade::kAgentWork, [&](Json& live) -> Status {
      live["spec"] = work["spec"];
      at_or_make(live, {"metadata", "annotations", work::kBegunAnnotation}) = begun;
      return {};
    });
  }
  if (!written && written.error().category == Category::kCancelled) return tl::unexpected(written.error());
  if (!written) {
    known.error = written.error().message;
    return {};
  }
  known.error.clear();
  known.member = {rollout::State::kProgressing, now, "the agent has not reported it yet", false};
  context_.progress().note(name + ": begun");
  return {};
}

Status FleetUpgrade::finish(const std::string& name, Instant now) {
  Known& known = known_[name];
  const std::optional<Json> work = watched_.find(works_, name, std::string(upgrade::kAgentWork));
  if (!work) return {};
  kube::DeleteOptions which;
  which.uid = uid_of(*work);
  const auto removed = hub_.remove(api::manifest_works(), name, upgrade::kAgentWork, which);
  if (!removed && removed.error().category != Category::kNotFound) return tl::unexpected(removed.error().with_cluster(name));
  known.finished = now;
  return {};
}

std::size_t FleetUpgrade::count(rollout::State state) const {
  return static_cast<std::size_t>(
      std::count_if(known_.begin(), known_.end(), [&](const auto& one) { return one.second.member.state == state; }));
}

/// Nothing is under way, and nothing more begins. What has failed is not waited for.
bool FleetUpgrade::over(const rollout::Step& step) const {
  return std::none_of(step.rollout.begin(), step.rollout.end(),
                      [](const rollout::ClusterState& one) { return one.state != rollout::State::kFailed; });
}

std::string FleetUpgrade::note() const {
  std::string text = std::to_string(count(rollout::State::kSucceeded)) + " of " + std::to_string(targets_.clusters.size());
  for (const auto& [name, known] : known_) {
    if (known.member.state != rollout::State::kProgressing || known.member.why.empty()) continue;
    return text + "; " + name + ": " + known.member.why;
  }
  return text;
}

Status FleetUpgrade::roll() {
  context_.progress().begin("Upgrading the agents");
  started_ = context_.clock().now();
  std::map<std::string, rollout::GroupKey> group_of;
  for (const rollout::Group& group : targets_.groups) {
    for (const std::string& cluster : group.clusters) group_of[cluster] = group.key;
  }
  while (true) {
    const Instant now = context_.clock().now();
    FLEETADM_CHECK(look(now));
    for (auto& [name, known] : known_) {
      if (known.member.finished && !known.finished) FLEETADM_CHECK(finish(name, now));
    }
    std::vector<rollout::ClusterState> states;
    for (const auto& [name, known] : known_) {
      if (known.member.state != rollout::State::kToApply)
        states.push_back({name, group_of[name], known.member.state, known.member.since, std::nullopt});
    }
    FLEETADM_TRY(const rollout::Step step,
                 rollout::next_step(strategy_, targets_.groups, states, now, rollout::Semantics::kStrict));
    breach_ = step.breach;
    for (const rollout::ClusterState& late : step.timed_out) {
      Known& known = known_[late.cluster];
      known.timed_out = true;
      known.member.state = rollout::State::kTimeOut;
    }
    bool begun = false;
    for (const rollout::ClusterState& next : step.rollout) {
      if (context_.stop().stop_requested()) break;
      if (next.state != rollout::State::kToApply) continue;
      FLEETADM_CHECK(begin(next.cluster, now));
      begun = true;
    }
    if (context_.stop().stop_requested()) {
      context_.progress().failed("stopped");
      return fail(Category::kCancelled, "stopped after " + pluralize(count(rollout::State::kSucceeded), "cluster"),
                  "what was begun goes on; run the same command again to continue");
    }
    if (!step.timed_out.empty()) continue;  // that they have failed may change what begins
    if (!begun && over(step)) break;
    context_.progress().note(note());
    watched_.wait(std::min(step.recheck_after.value_or(kLook), kLook), context_.stop());
  }
  const std::string outcome =
      std::to_string(count(rollout::State::kSucceeded)) + " of " + pluralize(targets_.clusters.size(), "cluster");
  if (outstanding() == 0) {
    context_.progress().done(outcome);
  } else {
    context_.progress().failed(outcome);
  }
  return {};
}

std::string FleetUpgrade::state_text(const Known& known) const {
  switch (known.member.state) {
    case rollout::State::kSucceeded: return "Succeeded";
    case rollout::State::kFailed: return "Failed";
    case rollout::State::kTimeOut: return "TimedOut";
    case rollout::State::kProgressing: return "Progressing";
    case rollout::State::kToApply:
    case rollout::State::kSkip: break;
  }
  return breach_ ? "NotStarted" : "Pending";
}

std::vector<std::string> FleetUpgrade::plan_lines() const {
  std::vector<std::string> lines{"agents: " + target_.image + " for " + std::to_string(outstanding()) + " of " +
                                 pluralize(targets_.clusters.size(), "cluster")};
  for (const auto& [name, known] : known_) {
    const bool same = known.member.state == rollout::State::kSucceeded;
    lines.push_back(name + ": " + (known.told.empty() ? "unknown version" : known.told) +
                    (same ? ", up to date" : " to " + (target_.version.empty() ? target_.image : target_.version)));
  }
  hosted_.add_plan_lines(lines);
  // These may be another installation's, or be missing on purpose; only who reads the cluster knows.
  lines.emplace_back(target_.whole
                         ? "unchanged: the agents' CRDs, NetworkPolicies, arguments and rights to Secrets; for these run "
                           "fleetadm upgrade agent on each cluster"
                         : "unchanged: everything but the images");
  return lines;
}

Report FleetUpgrade::report(const std::string& kind) const {
  Report report;
  Json list = Json::array();
  report.table = Table{{{"CLUSTER"}, {"STATE"}, {"AGENT"}, {"MESSAGE"}}, {}, {}};
  for (const auto& [name, known] : known_) {
    const std::string state = state_text(known);
    list.push_back({{"cluster", name}, {"state", state}, {"version", known.told}, {"message", known.member.why}});
    report.table->rows.push_back({name, state, known.told.empty() ? "<none>" : known.told, known.member.why});
    if (known.member.state == rollout::State::kSucceeded) {
      report.names.push_back("managedcluster." + api::managed_clusters().group + "/" + name);
    } else if (known.member.state == rollout::State::kFailed || known.member.state == rollout::State::kTimeOut) {
      const bool late = known.member.state == rollout::State::kTimeOut;
      report.failures.push_back(
          fail(late ? Category::kTimeout : Category::kConflict,
               (late ? "its agent was not replaced in time: " : "its agent was not replaced: ") + known.member.why)
              .value()
              .with_cluster(name));
    }
  }
  hosted_.add_to(report, list);
  report.data = {{"kind", kind},
                 {"component", "agent"},
                 {"image", {{"to", target_.image}}},
                 {"version", {{"to", target_.version}}},
                 {"clusters", std::move(list)}};
  return report;
}

Result<rollout::Strategy> strategy_of(const UpgradeFleetOptions& options) {
  StrategyOptions asked = options.strategy;
  if (asked.max_concurrency.empty() && (asked.kind.empty() || asked.kind == "progressive")) asked.max_concurrency = kCarefully;
  FLEETADM_TRY(const Json strategy, strategy_over(asked, Json()));
  FLEETADM_TRY(rollout::Strategy parsed, rollout::parse_strategy(strategy));
  if (!parsed.progress_deadline && options.patience > Duration::zero()) parsed.progress_deadline = options.patience;
  return parsed;
}

/// The hub comes first: it may have to know what newer agents ask of it.
Status check_hub_version(const std::string& hub_image, const UpgradeTarget& target) {
  const std::string hub_version = upgrade::version_of(hub_image);
  if (upgrade::skew_of(hub_version, target.version) != upgrade::Skew::kNewer) return {};
  return fail(Category::kConflict, "the hub is of version " + hub_version + ", older than " + target.version,
              "upgrade it first: fleetadm upgrade hub");
}

}  // namespace

Status validate_fleet(const UpgradeFleetOptions& options) {
  FLEETADM_CHECK(validate_targets(options.targets));
  if (!options.strategy.first.empty() && options.targets.placement.empty())
    return fail(Category::kUsage, "--first requires --placement, whose decision groups it names");
  return strategy_of(options).map([](const rollout::Strategy&) {});
}

Result<Report> upgrade_fleet(Context& context, const UpgradeFleetOptions& options) {
  FLEETADM_TRY(const kube::Client hub, context.client());
  const std::string hub_image = installed_image(hub);
  FLEETADM_TRY(const UpgradeTarget target, upgrade_target(options.upgrade, hub_image));
  FLEETADM_CHECK(check_hub_version(hub_image, target));
  FLEETADM_TRY(FleetTargets targets, fleet_targets(context, hub, options.targets, options.strategy));
  FLEETADM_TRY(rollout::Strategy strategy, strategy_of(options));
  std::vector<Error> missing = std::move(targets.missing);
  FleetUpgrade fleet(context, hub, target, std::move(targets), std::move(strategy));
  FLEETADM_CHECK(fleet.start());
  FLEETADM_CHECK(fleet.look(context.clock().now()));
  if (options.upgrade.plan || is_dry(context)) {
    Report report = fleet.report("UpgradePlan");
    report.failures = std::move(missing);
    report.table.reset();
    report.lines = fleet.plan_lines();
    return report;
  }
  if (fleet.outstanding() > 0 && !options.upgrade.yes) {
    if (context.terminal().interactive()) {
      for (const std::string& line : fleet.plan_lines()) context.progress().say(line);
    }
    FLEETADM_TRY(const bool sure,
                 context.terminal().confirm("Upgrade the agents of " + pluralize(fleet.size(), "cluster") + "?"));
    if (!sure) return fail(Category::kCancelled, "nothing was changed");
  }
  if (fleet.size() > 0) FLEETADM_CHECK(fleet.roll());
  Report report = fleet.report("UpgradeReport");
  for (Error& error : missing) report.failures.push_back(std::move(error));
  if (fleet.outstanding() > 0) {
    report.notes.emplace_back(
        "Agents that could not be replaced run as before. Run the command again to continue, or with --to or --image to go back.");
  }
  return report;
}

}  // namespace fleetadm::commands
