// How the roll-out of an add-on stands as a whole.
#include "commands/rollout/addon_status.h"

#include <gtest/gtest.h>

namespace fleetadm::commands {
namespace {

using work::Phase;

addon::RolloutStanding of(std::initializer_list<Phase> phases) {
  addon::RolloutStanding standing;
  for (const Phase phase : phases) {
    addon::ClusterStanding one;
    one.cluster = "c" + std::to_string(standing.clusters.size() + 1);
    one.phase = phase;
    standing.clusters.push_back(std::move(one));
  }
  return standing;
}

TEST(AddonRolloutState, IsDoneWhenEveryClusterIs) {
  EXPECT_EQ(state_of(of({Phase::kDone, Phase::kDone})), RolloutState::kDone);
  EXPECT_EQ(state_of(of({})), RolloutState::kDone);
}

TEST(AddonRolloutState, DoesNotWaitForWhatIsToBeRemoved) {
  EXPECT_EQ(state_of(of({Phase::kDone, Phase::kSkipped})), RolloutState::kDone);
  EXPECT_EQ(state_of(of({Phase::kTimedOut, Phase::kSkipped})), RolloutState::kTimedOut);
}

TEST(AddonRolloutState, GoesOnWhileSomethingMayStillHappen) {
  for (const Phase phase : {Phase::kBeginning, Phase::kUnderWay, Phase::kSoaking, Phase::kWaiting})
    EXPECT_EQ(state_of(of({Phase::kDone, Phase::kTimedOut, phase})), RolloutState::kRunning) << to_string(phase);
}

TEST(AddonRolloutState, AFailureWithinItsDeadlineMayBeMended) {
  addon::RolloutStanding standing = of({Phase::kDone, Phase::kFailed});
  EXPECT_EQ(state_of(standing), RolloutState::kPartial);
  standing.clusters[1].until = Instant{};
  EXPECT_EQ(state_of(standing), RolloutState::kRunning);
}

TEST(AddonRolloutState, ToleratedFailuresEndItPartly) {
  EXPECT_EQ(state_of(of({Phase::kDone, Phase::kTimedOut})), RolloutState::kPartial);
  EXPECT_EQ(state_of(of({Phase::kTimedOut})), RolloutState::kTimedOut);
  EXPECT_EQ(state_of(of({Phase::kFailed, Phase::kTimedOut})), RolloutState::kFailed);
}

TEST(AddonRolloutState, ABreachEndsItWhoeverStillWaits) {
  addon::RolloutStanding standing = of({Phase::kTimedOut, Phase::kWaiting});
  standing.breach = true;
  EXPECT_EQ(state_of(standing), RolloutState::kTimedOut);
  standing.clusters[0].phase = Phase::kFailed;
  EXPECT_EQ(state_of(standing), RolloutState::kFailed);
}

TEST(AddonRolloutState, AMissingConfigurationIsAFailure) {
  addon::RolloutStanding standing = of({Phase::kDone, Phase::kWaiting});
  standing.missing = addon::ConfigKey{addon::addon_templates(), "", "hello-2"};
  EXPECT_EQ(state_of(standing), RolloutState::kFailed);
}

TEST(AddonRolloutName, IsTheOneAfterAddon) {
  EXPECT_EQ(addon_of_rollout("addon/hello"), "hello");
  EXPECT_EQ(addon_of_rollout("apps/web"), std::nullopt);
  EXPECT_EQ(addon_of_rollout("addon"), std::nullopt);
}

}  // namespace
}  // namespace fleetadm::commands
