#include "commands/rollout/addon_status.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "commands/framework/addon_change.h"
#include "commands/framework/listing.h"
#include "commands/framework/write_report.h"
#include "commands/rollout/addon_feed.h"
#include "core/api/kinds.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {
namespace {

using work::Phase;

constexpr Duration kAddonTick = std::chrono::seconds(1);  // times to deadlines are told, without asking the hub
constexpr Duration kReadAgain = std::chrono::seconds(2);  // where nothing may be watched

Result<addon::RolloutStanding> read_standing(const kube::Client& hub, const std::string& addon, Instant now) {
  FLEETADM_TRY(const addon::AddonRolloutObjects read, addon_objects(hub, addon));
  return addon::rollout_standing(read.objects, addon, read.known(), now);
}

/// Clusters that are to have the add-on.
std::size_t taking_part(const addon::RolloutStanding& standing) {
  return standing.clusters.size() - standing.count(Phase::kSkipped);
}

std::string summary_of(const addon::RolloutStanding& standing) {
  std::string text =
      std::to_string(standing.count(Phase::kDone)) + " of " + std::to_string(taking_part(standing)) + " clusters done";
  const auto add = [&](Phase phase, const char* word) {
    if (const std::size_t count = standing.count(phase); count > 0) text += ", " + std::to_string(count) + " " + word;
  };
  add(Phase::kBeginning, "beginning");
  add(Phase::kUnderWay, "in progress");
  add(Phase::kSoaking, "soaking");
  add(Phase::kFailed, "failed");
  add(Phase::kTimedOut, "timed out");
  add(Phase::kWaiting, "waiting");
  add(Phase::kSkipped, "no longer selected");
  return text;
}

/// The cluster that is to be looked at first: one that failed, else one that timed out.
const addon::ClusterStanding* first_trouble(const addon::RolloutStanding& standing) {
  for (const Phase phase : {Phase::kFailed, Phase::kTimedOut}) {
    for (const addon::ClusterStanding& one : standing.clusters) {
      if (one.phase == phase) return &one;
    }
  }
  return nullptr;
}

std::string group_cell(const addon::ClusterStanding& one) {
  if (!one.group) return "<none>";
  return one.group->name.empty() ? std::to_string(one.group->index) : one.group->name;
}

std::string left_cell(const addon::ClusterStanding& one, Instant now) {
  if (!one.until || one.phase == Phase::kTimedOut || one.phase == Phase::kDone) return "<none>";
  return *one.until > now ? format_age(now, *one.until) : "0s";
}

Json cluster_json(const addon::ClusterStanding& one) {
  Json entry{{"cluster", one.cluster}, {"phase", to_string(one.phase)}};
  if (!one.placement.empty()) entry["placement"] = one.placement;
  if (one.group) entry["group"] = {{"name", one.group->name}, {"index", one.group->index}};
  if (one.since) entry["since"] = format_time(*one.since);
  if (one.until) entry["until"] = format_time(*one.until);
  if (!one.why.empty()) entry["why"] = one.why;
  return entry;
}

Report standing_report(const std::string& addon, const addon::RolloutStanding& standing, Instant now) {
  const RolloutState state = state_of(standing);
  Report report;
  report.data = {{"kind", "AddonRolloutStatus"},
                 {"name", addon},
                 {"state", to_string(state)},
                 {"summary", summary_of(standing)},
                 {"clusters", Json::array()}};
  report.names.push_back(full_name(api::cluster_management_addons(), addon));
  report.table = Table{
      {{"CLUSTER"}, {"PLACEMENT", true}, {"GROUP"}, {"PHASE"}, {"SINCE"}, {"LEFT"}, {"WHY"}}, {}, "The add-on is on no cluster."};
  for (const addon::ClusterStanding& one : standing.clusters) {
    const std::string phase(to_string(one.phase));
    report.data["clusters"].push_back(cluster_json(one));
    report.table->rows.push_back({one.cluster, or_none(one.placement), group_cell(one), phase,
                                  one.since ? format_age(*one.since, now) : "<none>", left_cell(one, now), or_none(one.why)});
    report.branches.push_back({addon + ": " + std::string(to_string(state)),
                               one.placement.empty() ? "no placement" : "placement " + one.placement,
                               one.group ? "group " + group_cell(one) : "no group",
                               one.cluster + ": " + phase + (one.why.empty() ? "" : " (" + one.why + ")")});
  }
  if (standing.clusters.empty()) report.branches.push_back({addon});
  report.notes.push_back(addon + ": " + std::string(to_string(state)) + ": " + summary_of(standing) + ".");
  if (standing.missing) report.notes.push_back("Configuration " + standing.missing->text() + " does not exist.");
  if (state == RolloutState::kPaused) report.notes.push_back("Continue it with: fleetadm rollout resume addon/" + addon);
  if (const addon::ClusterStanding* one = first_trouble(standing); one != nullptr) {
    report.notes.push_back("See why: fleetadm addon status " + addon + " --explain --clusters " + one->cluster);
  }
  report.exit_code = exit_code_of(state);
  return report;
}

/// What is watched, or read again and again where the caller may not watch all of it.
class StandingSource {
 public:
  StandingSource(const kube::Client& hub, std::string addon) : hub_(hub), addon_(std::move(addon)) {}

  Status open(const std::stop_token& stop) {
    auto feed = AddonFeed::open(hub_, addon_, stop);
    if (!feed && feed.error().code == 403) {
      feed_.reset();
      return {};
    }
    FLEETADM_TRY(feed_, std::move(feed));
    return {};
  }
  Result<addon::RolloutStanding> standing(Instant now, const std::stop_token& stop) {
    if (!feed_) return read_standing(hub_, addon_, now);
    FLEETADM_TRY(addon::AddonRolloutObjects objects, feed_->objects());
    if (!feed_->covers(objects)) {
      FLEETADM_CHECK(open(stop));
      if (!feed_) return read_standing(hub_, addon_, now);
      FLEETADM_TRY(objects, feed_->objects());
    }
    return addon::rollout_standing(objects.objects, addon_, objects.known(), now);
  }
  std::string trouble() const {
    const std::optional<Error> trouble = feed_ ? feed_->trouble() : std::nullopt;
    return trouble ? "; the hub does not respond: " + trouble->message : std::string();
  }
  void wait(Duration at_most, const std::stop_token& stop) {
    if (feed_) return feed_->wait(at_most, stop);
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    changed.wait_for(lock, stop, at_most < kAddonTick ? at_most : kReadAgain, [] { return false; });
  }

 private:
  const kube::Client& hub_;
  const std::string addon_;
  std::unique_ptr<AddonFeed> feed_;
};

Result<Report> watch_standing(Context& context, const kube::Client& hub, const std::string& addon, Duration timeout) {
  const Instant begun = context.clock().now();
  const std::string again = "to continue watching, run: fleetadm rollout status addon/" + addon + " -w";
  context.progress().begin("Rollout of add-on " + addon);
  StandingSource source(hub, addon);
  FLEETADM_CHECK(source.open(context.stop()));
  std::string told;
  for (;;) {
    const Instant now = context.clock().now();
    FLEETADM_TRY(const addon::RolloutStanding standing, source.standing(now, context.stop()));
    if (state_of(standing) != RolloutState::kRunning) {
      // A watch may be behind what this command itself has written: what is told was read.
      FLEETADM_TRY(const addon::RolloutStanding read, read_standing(hub, addon, now));
      if (state_of(read) == state_of(standing)) {
        context.progress().done(summary_of(read));
        return standing_report(addon, read, now);
      }
    }
    const std::string line = summary_of(standing) + source.trouble();
    context.progress().note(line);
    if (!context.terminal().interactive() && line != told) context.progress().say(addon + ": " + line);
    told = line;
    const bool limited = timeout > Duration::zero();
    if (limited && now - begun >= timeout) {
      context.progress().failed("timed out");
      return fail(Category::kTimeout, "add-on " + addon + " is not rolled out after " + format_duration(timeout) + ": " + line,
                  again);
    }
    if (context.stop().stop_requested()) return fail(Category::kCancelled, "stopped watching; the rollout continues", again);
    // Deadlines pass without any event.
    source.wait(limited ? std::min<Duration>(kAddonTick, begun + timeout - now) : kAddonTick, context.stop());
  }
}

}  // namespace

std::optional<std::string> addon_of_rollout(const std::string& text) {
  if (!text.starts_with(kAddonPrefix)) return std::nullopt;
  return text.substr(std::string_view(kAddonPrefix).size());
}

Status check_rollout_name(const std::vector<std::string>& args) {
  const auto addon = args.empty() ? std::nullopt : addon_of_rollout(args.front());
  if (!addon || is_dns_subdomain(*addon)) return {};
  return fail(Category::kUsage, "\"addon/" + *addon + "\" does not name an add-on", "use addon/NAME");
}

RolloutState state_of(const addon::RolloutStanding& standing) {
  const std::size_t all = taking_part(standing);
  const std::size_t done = standing.count(Phase::kDone);
  if (done == all) return RolloutState::kDone;
  const std::size_t failed = standing.count(Phase::kFailed);
  if (standing.missing) return RolloutState::kFailed;
  if (standing.paused) return RolloutState::kPaused;
  if (standing.breach) return failed > 0 ? RolloutState::kFailed : RolloutState::kTimedOut;
  // A failure within a deadline may still be mended by the agent; one without any is final until the configuration changes.
  const auto lasting = static_cast<std::size_t>(
      std::count_if(standing.clusters.begin(), standing.clusters.end(), [](const addon::ClusterStanding& one) {
        return one.phase == Phase::kTimedOut || (one.phase == Phase::kFailed && !one.until);
      }));
  if (done + lasting < all) return RolloutState::kRunning;
  if (done > 0) return RolloutState::kPartial;
  return failed > 0 ? RolloutState::kFailed : RolloutState::kTimedOut;
}

Result<Report> addon_rollout_status(Context& context, const std::string& addon, bool watch, Duration timeout) {
  FLEETADM_TRY(const kube::Client hub, context.client());
  if (watch) return watch_standing(context, hub, addon, timeout);
  const Instant now = context.clock().now();
  FLEETADM_TRY(const addon::RolloutStanding standing, read_standing(hub, addon, now));
  return standing_report(addon, standing, now);
}

}  // namespace fleetadm::commands
