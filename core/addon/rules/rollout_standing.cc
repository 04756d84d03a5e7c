#include "core/addon/rules/rollout_standing.h"

#include <algorithm>
#include <utility>

#include "core/addon/rules/configuration_graph.h"
#include "core/addon/rules/install_progression.h"
#include "core/addon/rules/placement_groups.h"
#include "core/controller/controller.h"

namespace fleetadm::addon {
namespace {

using rollout::Semantics;
using rollout::State;
using work::Phase;

/// What the add-on says about its own progress.
std::string told_progress(const Json& addon) {
  const Json* progressing = controller::find_condition(addon, "Progressing");
  if (progressing == nullptr) return "nothing is reported yet";
  const std::string message = str(*progressing, {"message"});
  return message.empty() ? str(*progressing, {"reason"}) : message;
}

Phase phase_of(State state) {
  switch (state) {
    case State::kToApply: return Phase::kBeginning;
    case State::kProgressing: return Phase::kUnderWay;
    case State::kSucceeded: return Phase::kSoaking;
    case State::kFailed: return Phase::kFailed;
    case State::kTimeOut: return Phase::kTimedOut;
    case State::kSkip: return Phase::kWaiting;
  }
  return Phase::kWaiting;
}

const rollout::ClusterState* state_in(const std::vector<rollout::ClusterState>& states, const std::string& cluster) {
  const auto found = std::find_if(states.begin(), states.end(), [&](const auto& one) { return one.cluster == cluster; });
  return found == states.end() ? nullptr : &*found;
}

std::optional<rollout::GroupKey> group_of(const PlacementNode& node, const std::string& cluster) {
  for (const rollout::Group& group : node.groups) {
    if (std::find(group.clusters.begin(), group.clusters.end(), cluster) != group.clusters.end()) return group.key;
  }
  return std::nullopt;
}

void follow(ClusterStanding& one, const rollout::ClusterState& state, const Json& addon) {
  one.phase = phase_of(state.state);
  one.since = state.since;
  one.until = state.recheck;
  if (one.phase == Phase::kUnderWay || one.phase == Phase::kFailed || one.phase == Phase::kTimedOut)
    one.why = told_progress(addon);
  if (one.phase == Phase::kBeginning) one.why = "the hub configures it next";
  if (one.phase == Phase::kSoaking) one.why = "it is watched for the strategy's minSuccessTime";
}

class StandingBuilder {
 public:
  StandingBuilder(const ObjectReader& objects, Instant now) : objects_(objects), now_(now) {}

  Status add(const PlacementNode& node);
  void add_unplaced(const PlacementNode& defaults, bool by_placements);
  RolloutStanding take() { return std::move(out_); }

 private:
  ClusterStanding standing_of(const PlacementNode& node, const std::string& cluster, const rollout::Step& step);
  bool lacks_configuration(ClusterStanding& one, const AddonNode& addon);

  const ObjectReader& objects_;
  const Instant now_;
  RolloutStanding out_;
};

bool StandingBuilder::lacks_configuration(ClusterStanding& one, const AddonNode& addon) {
  if (!addon.missing) return false;
  if (!out_.missing) out_.missing = addon.missing;
  one.why = "configuration " + addon.missing->text() + " does not exist";
  return true;
}

ClusterStanding StandingBuilder::standing_of(const PlacementNode& node, const std::string& cluster, const rollout::Step& step) {
  ClusterStanding one{cluster, node.key, group_of(node, cluster), Phase::kWaiting, {}, {}, {}};
  const auto found = node.addons.find(cluster);
  if (found == node.addons.end()) {
    const bool there = objects_.get(managed_clusters(), {}, cluster) != nullptr;
    one.why = there ? "the hub has not created the add-on there" : "there is no such cluster";
    return one;
  }
  const AddonNode& addon = found->second;
  if (lacks_configuration(one, addon)) return one;
  if (node.waits) {
    one.why = "the hub has not taken up the placement";
  } else if (const auto* late = state_in(step.timed_out, cluster)) {
    follow(one, *late, *addon.addon);
  } else if (const auto* active = state_in(step.rollout, cluster)) {
    follow(one, *active, *addon.addon);
  } else if (addon.standing.state == State::kSucceeded) {
    one.phase = Phase::kDone;
    one.since = addon.standing.since;
  } else {
    one.why = node.paused   ? "the roll-out is paused"
              : step.breach ? "more clusters failed than the strategy tolerates"
                            : "its turn has not come";
  }
  return one;
}

Status StandingBuilder::add(const PlacementNode& node) {
  rollout::Step step;
  if (!node.waits) {
    FLEETADM_TRY(step, step_of(node, now_, Semantics::kStrict));
  }
  out_.breach = out_.breach || step.breach;
  for (const std::string& cluster : node.expected) out_.clusters.push_back(standing_of(node, cluster, step));
  return {};
}

void StandingBuilder::add_unplaced(const PlacementNode& defaults, bool by_placements) {
  for (const auto& [cluster, addon] : defaults.addons) {
    ClusterStanding one{cluster, {}, std::nullopt, Phase::kWaiting, {}, {}, {}};
    if (by_placements) {
      one.phase = Phase::kSkipped;
      one.why = "no placement selects the cluster: the hub removes the add-on there";
    } else if (!lacks_configuration(one, addon)) {
      follow(one, addon.standing, *addon.addon);
      if (defaults.paused && one.phase == Phase::kBeginning) {
        one.phase = Phase::kWaiting;
        one.why = "the roll-out is paused";
      }
      if (addon.standing.state == State::kSucceeded) {  // no strategy, so nothing watches it further
        one.phase = Phase::kDone;
        one.why.clear();
      }
    }
    out_.clusters.push_back(std::move(one));
  }
}

}  // namespace

std::size_t RolloutStanding::count(Phase phase) const {
  return static_cast<std::size_t>(
      std::count_if(clusters.begin(), clusters.end(), [&](const ClusterStanding& one) { return one.phase == phase; }));
}

Result<RolloutStanding> rollout_standing(const ObjectReader& objects, std::string_view addon, const KnownTypes& known,
                                         Instant now) {
  const ObjectPtr before = objects.get(cluster_management_addons(), {}, addon);
  if (!before) return fail(Category::kNotFound, "there is no add-on \"" + std::string(addon) + "\"");
  if (!is_managed(*before))
    return fail(Category::kUnsupported, "add-on \"" + std::string(addon) + "\" is rolled out by its own manager");
  Json declaration = *before;
  set_progressions(declaration);
  set_desired_hashes(declaration, objects, known);
  FLEETADM_TRY(const ConfigurationGraph graph, make_graph(objects, declaration, known, Semantics::kStrict));
  StandingBuilder standing(objects, now);
  for (const PlacementNode& node : graph.placements) FLEETADM_CHECK(standing.add(node));
  standing.add_unplaced(graph.defaults, is_installed_by_placements(declaration));
  RolloutStanding told = standing.take();
  told.paused = graph.defaults.paused;
  told.configs = configs_now(declaration);
  return told;
}

}  // namespace fleetadm::addon
