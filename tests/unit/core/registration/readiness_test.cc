// When a cluster's conditions change, and when an outage or a recovery is too short to.
#include "core/registration/agent/readiness.h"

#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/controller/controller.h"

namespace fleetadm::registration::agent {
namespace {

using std::chrono::seconds;

const Instant kStart = Instant(std::chrono::hours(24 * 365 * 50));

Look ready_look() { return {Seen::kReady, 200, {}}; }
Look silent_look() { return {Seen::kUnreachable, 0, "connection refused"}; }

/// A member as the hub sees it: each look changes the object as the hub would write it.
class ClusterHealth : public ::testing::Test {
 protected:
  ClusterHealth() {
    controller::set_condition(at_or_make(cluster, {"status", "conditions"}), api::kConditionHubAccepted, "True", "x", "", kStart);
  }
  void look(const Look& seen, int second) {
    const Instant now = kStart + seconds(second);
    const Health health = judge(cluster, seen, holds_of(cluster, {}), now, memory);
    registration::agent::ClusterObservation observation;
    observation.probe = health.probe;
    Json status = registration::agent::wanted_status(cluster, observation, now);
    write_ready(cluster, seen, holds_of(cluster, {}), now, memory, status);
    if (told(api::kConditionAvailable) != told_in(status, api::kConditionAvailable)) ++transitions;
    cluster["status"] = std::move(status);
  }
  void look_each_second(const Look& seen, int from, int to) {
    for (int second = from; second < to; ++second) look(seen, second);
  }
  static std::string told_in(const Json& status, std::string_view type) {
    const Json object{{"status", status}};
    const Json* condition = controller::find_condition(object, type);
    return condition == nullptr ? "" : str(*condition, {"status"});
  }
  std::string told(std::string_view type) const { return told_in(object_at(cluster, {"status"}), type); }
  std::string reason(std::string_view type) const {
    const Json* condition = controller::find_condition(cluster, type);
    return condition == nullptr ? "" : str(*condition, {"reason"});
  }

  Json cluster{{"metadata", {{"name", "c1"}}}};
  Memory memory;
  int transitions = 0;
};

TEST_F(ClusterHealth, TheFirstLookCountsAtOnce) {
  look(ready_look(), 0);
  EXPECT_EQ(told(api::kConditionAvailable), "True");
  EXPECT_EQ(reason(api::kConditionAvailable), "ManagedClusterAvailable");
  EXPECT_EQ(reason(api::kConditionReady), "ClusterReady");
}

TEST_F(ClusterHealth, AnOutageCountsWhenItHasLastedForItsHold) {
  look(ready_look(), 0);
  look_each_second(silent_look(), 10, 40);
  EXPECT_EQ(told(api::kConditionAvailable), "True");
  EXPECT_EQ(told(api::kConditionReady), "True");
  EXPECT_EQ(told(api::kConditionResponding), "False") << "what is held back is seen here";
  look(silent_look(), 40);
  EXPECT_EQ(told(api::kConditionAvailable), "False");
  EXPECT_EQ(reason(api::kConditionAvailable), "ManagedClusterKubeAPIServerUnavailable");
  EXPECT_EQ(reason(api::kConditionReady), "ClusterNotReachable");
}

TEST_F(ClusterHealth, SilenceBeganWithTheQuestionAndAnAnswerWithItself) {
  look(ready_look(), 0);
  Look silent = silent_look();
  silent.asked = kStart + seconds(10);
  look(silent, 15);
  look(silent_look(), 39);
  EXPECT_EQ(told(api::kConditionAvailable), "True");
  look(silent_look(), 40);
  EXPECT_EQ(told(api::kConditionAvailable), "False");
  Look late = ready_look();
  late.asked = kStart + seconds(50);
  look(late, 54);
  look(ready_look(), 83);
  EXPECT_EQ(told(api::kConditionAvailable), "False");
  look(ready_look(), 84);
  EXPECT_EQ(told(api::kConditionAvailable), "True");
}

TEST_F(ClusterHealth, AQuestionOfAnotherTimeMakesNoOutageLong) {
  look(ready_look(), 0);
  Look silent = silent_look();
  silent.asked = kStart - std::chrono::hours(5);
  look(silent, 15);
  EXPECT_EQ(told(api::kConditionAvailable), "True") << "the clock was set forward";
  silent.asked = kStart + std::chrono::hours(5);
  look(silent, 16);
  EXPECT_EQ(told(api::kConditionAvailable), "True");
  look(silent_look(), 35);
  EXPECT_EQ(told(api::kConditionAvailable), "False");
}

TEST_F(ClusterHealth, TellsWhenAHeldChangeIsDue) {
  look(ready_look(), 0);
  const auto due = [&](const Look& seen, int second) {
    return judge(cluster, seen, holds_of(cluster, {}), kStart + seconds(second), memory).due;
  };
  EXPECT_FALSE(due(ready_look(), 5));
  EXPECT_EQ(due(silent_look(), 10), kStart + seconds(40));
  EXPECT_EQ(due(silent_look(), 39), kStart + seconds(40));
  EXPECT_FALSE(due(silent_look(), 40));
}

TEST_F(ClusterHealth, GivingUpHasAReasonOfItsOwn) {
  look({Seen::kRefused, 401, "it answered 401"}, 0);
  Json status = object_at(cluster, {"status"});
  write_gave_up({Seen::kRefused, 401, {}}, std::chrono::hours(12), kStart + std::chrono::hours(12), status);
  cluster["status"] = status;
  EXPECT_EQ(told(api::kConditionReady), "False");
  EXPECT_EQ(reason(api::kConditionReady), "ReconnectFailed");
  const Json* condition = controller::find_condition(cluster, api::kConditionReady);
  EXPECT_EQ(str(*condition, {"message"}),
            "The hub tries no more: in 12h0m0s the cluster could not be connected. The cluster refuses the hub's credential");
  EXPECT_EQ(str(*condition, {"lastTransitionTime"}), format_time(kStart)) << "it is since then that it is not ready";
}

TEST_F(ClusterHealth, SoDoesARecovery) {
  look(ready_look(), 0);
  look_each_second(silent_look(), 1, 60);
  look_each_second(ready_look(), 60, 90);
  EXPECT_EQ(told(api::kConditionAvailable), "False");
  look(ready_look(), 90);
  EXPECT_EQ(told(api::kConditionAvailable), "True");
  EXPECT_EQ(told(api::kConditionReady), "True");
  EXPECT_EQ(transitions, 3);
}

TEST_F(ClusterHealth, FlappingChangesNothing) {
  look(ready_look(), 0);
  for (int round = 0; round < 10; ++round) {
    look_each_second(silent_look(), 30 * round + 1, 30 * round + 16);
    look_each_second(ready_look(), 30 * round + 16, 30 * round + 31);
  }
  EXPECT_EQ(transitions, 1) << "the first look's";
}

TEST_F(ClusterHealth, AnotherProcessGoesOnWithTheSameOutage) {
  look(ready_look(), 0);
  look_each_second(silent_look(), 10, 25);
  memory = {};
  look_each_second(silent_look(), 30, 40);
  EXPECT_EQ(told(api::kConditionAvailable), "True") << "neither at once";
  look(silent_look(), 40);
  EXPECT_EQ(told(api::kConditionAvailable), "False") << "nor later";
  EXPECT_EQ(told(api::kConditionReady), "False");
}

TEST_F(ClusterHealth, AnotherProcessGoesOnWithTheSameRecovery) {
  look(ready_look(), 0);
  look_each_second(silent_look(), 1, 60);
  look_each_second(ready_look(), 60, 70);
  memory = {};
  look_each_second(ready_look(), 75, 90);
  EXPECT_EQ(told(api::kConditionAvailable), "False");
  look(ready_look(), 90);
  EXPECT_EQ(told(api::kConditionAvailable), "True");
}

TEST_F(ClusterHealth, AliveIsNotReady) {
  look({Seen::kNotReady, 500, "/readyz answered 500"}, 0);
  EXPECT_EQ(told(api::kConditionAvailable), "True");
  EXPECT_EQ(told(api::kConditionReady), "False");
  EXPECT_EQ(reason(api::kConditionReady), "ClusterNotReady");
}

TEST_F(ClusterHealth, WhatIsUnknownBecomesKnownAtOnce) {
  controller::set_condition(at_or_make(cluster, {"status", "conditions"}), api::kConditionAvailable, "Unknown",
                            "ManagedClusterLeaseUpdateStopped", "", kStart);
  look(silent_look(), 1);
  EXPECT_EQ(told(api::kConditionAvailable), "False");
}

TEST_F(ClusterHealth, ReasonsTellApartWhatIsWrong) {
  const std::pair<Seen, const char*> reasons[]{{Seen::kRefused, "CredentialRefused"},
                                               {Seen::kCertificateExpired, "CertificateExpired"},
                                               {Seen::kUntrusted, "CertificateUntrusted"},
                                               {Seen::kNoCredential, "StatusCollectionFailed"},
                                               {Seen::kOtherCluster, "OtherCluster"}};
  for (const auto& [seen, word] : reasons) {
    look({seen, 0, "x"}, 1);
    EXPECT_EQ(reason(api::kConditionReady), word);
    EXPECT_EQ(told(api::kConditionAvailable), "False");
  }
}

TEST_F(ClusterHealth, AClusterHasHoldsOfItsOwn) {
  cluster["metadata"]["annotations"] = {{std::string(kFailureHoldAnnotation), "5s"}, {std::string(kSuccessHoldAnnotation), "x"}};
  EXPECT_EQ(holds_of(cluster, {}).failure, Duration(seconds(5)));
  EXPECT_EQ(holds_of(cluster, {}).success, Duration(seconds(30))) << "what is none counts for nothing";
  look(ready_look(), 0);
  look_each_second(silent_look(), 1, 6);
  EXPECT_EQ(told(api::kConditionAvailable), "True");
  look(silent_look(), 6);
  EXPECT_EQ(told(api::kConditionAvailable), "False");
}

TEST_F(ClusterHealth, AClockThatWasSetBackHoldsNothingBackForLonger) {
  look(ready_look(), 100);
  look(silent_look(), 110);
  look_each_second(silent_look(), 20, 50);
  look(silent_look(), 50);
  EXPECT_EQ(told(api::kConditionAvailable), "False");
}

}  // namespace
}  // namespace fleetadm::registration::agent
