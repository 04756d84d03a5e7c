#include "core/sandbox/node/pod_status.h"

#include <gtest/gtest.h>

namespace fleetadm::sandbox {
namespace {

using std::chrono::seconds;
const NodeFacts kHost{.name = "n1"};
const Instant kStart = *parse_time("2026-01-01T00:00:00Z");
const Instant kLater = kStart + seconds(30);

Json any_pod(std::string_view policy = "Always") {
  return {{"metadata", {{"name", "p"}, {"namespace", "ns"}, {"uid", "u"}}}, {"spec", {{"restartPolicy", policy}}}};
}

ContainerView running(bool ready) {
  return {.name = "c", .image = "fleetadm", .phase = Phase::kRunning, .ready = ready, .started = kStart};
}

ContainerView over(int code, int signal = 0) {
  return {.name = "c",
          .image = "fleetadm",
          .phase = Phase::kEnded,
          .last = Termination{.code = code, .signal = signal, .started = kStart, .finished = kLater},
          .final = true};
}

std::string condition(const Json& status, std::string_view type, std::string_view member = "status") {
  for (const Json& each : list_at(status, {"conditions"})) {
    if (str(each, {"type"}) == type) return str(each, {member});
  }
  return "absent";
}

TEST(PodStatus, OfARunningPod) {
  const Json status = pod_status(any_pod(), {}, {running(true)}, kHost, kStart, kLater);
  EXPECT_EQ(str(status, {"phase"}), "Running");
  for (const char* type : {"Ready", "ContainersReady", "Initialized", "PodScheduled"})
    EXPECT_EQ(condition(status, type), "True") << type;
  EXPECT_EQ(str(status, {"podIP"}), "127.0.0.1");
  EXPECT_EQ(str(status, {"startTime"}), "2026-01-01T00:00:00Z");
  const Json& container = list_at(status, {"containerStatuses"}).at(0);
  EXPECT_TRUE(flag(container, {"ready"}));
  EXPECT_EQ(str(container, {"state", "running", "startedAt"}), "2026-01-01T00:00:00Z");
}

TEST(PodStatus, IsNotReadyUntilAllContainersAre) {
  const Json status = pod_status(any_pod(), {}, {running(true), running(false)}, kHost, kStart, kLater);
  EXPECT_EQ(str(status, {"phase"}), "Running");
  EXPECT_EQ(condition(status, "Ready"), "False");
  EXPECT_EQ(condition(status, "Ready", "reason"), "ContainersNotReady");
}

TEST(PodStatus, WaitsBeforeTheFirstStartAndAfterACrash) {
  ContainerView first{.name = "c", .image = "fleetadm"};
  EXPECT_EQ(str(pod_status(any_pod(), {}, {first}, kHost, kStart, kLater), {"phase"}), "Pending");
  ContainerView again = over(137, 9);
  again.phase = Phase::kWaiting;
  again.final = false;
  again.reason = "CrashLoopBackOff";
  again.restarts = 3;
  const Json status = pod_status(any_pod(), {}, {again}, kHost, kStart, kLater);
  EXPECT_EQ(str(status, {"phase"}), "Running");
  const Json& container = list_at(status, {"containerStatuses"}).at(0);
  EXPECT_EQ(str(container, {"state", "waiting", "reason"}), "CrashLoopBackOff");
  EXPECT_EQ(num(container, {"lastState", "terminated", "exitCode"}), 137);
  EXPECT_EQ(num(container, {"lastState", "terminated", "signal"}), 9);
  EXPECT_EQ(num(container, {"restartCount"}), 3);
}

TEST(PodStatus, EndsAsItsContainersDid) {
  EXPECT_EQ(str(pod_status(any_pod("Never"), {}, {over(0), over(0)}, kHost, kStart, kLater), {"phase"}), "Succeeded");
  const Json failed = pod_status(any_pod("Never"), {}, {over(0), over(3)}, kHost, kStart, kLater);
  EXPECT_EQ(str(failed, {"phase"}), "Failed");
  EXPECT_EQ(condition(failed, "Ready"), "False");
  EXPECT_EQ(condition(failed, "Ready", "reason"), "PodFailed");
  EXPECT_EQ(str(pod_status(any_pod("Never"), {}, {over(0), running(true)}, kHost, kStart, kLater), {"phase"}), "Running");
}

TEST(PodStatus, HoldsUntilInitContainersAreDone) {
  EXPECT_EQ(str(pod_status(any_pod(), {running(false)}, {ContainerView{.name = "c"}}, kHost, kStart, kLater), {"phase"}),
            "Pending");
  EXPECT_EQ(condition(pod_status(any_pod(), {running(false)}, {running(true)}, kHost, kStart, kLater), "Initialized"), "False");
  EXPECT_EQ(str(pod_status(any_pod(), {over(0)}, {running(true)}, kHost, kStart, kLater), {"phase"}), "Running");
  EXPECT_EQ(str(pod_status(any_pod("Never"), {over(1)}, {ContainerView{.name = "c"}}, kHost, kStart, kLater), {"phase"}),
            "Failed");
}

TEST(PodStatus, KeepsTheTimeOfAConditionThatDidNotChange) {
  Json before = any_pod();
  before["status"] = pod_status(any_pod(), {}, {running(true)}, kHost, kStart, kStart);
  const Json same = pod_status(before, {}, {running(true)}, kHost, kStart, kLater);
  EXPECT_EQ(condition(same, "Ready", "lastTransitionTime"), "2026-01-01T00:00:00Z");
  const Json changed = pod_status(before, {}, {running(false)}, kHost, kStart, kLater);
  EXPECT_EQ(condition(changed, "Ready", "lastTransitionTime"), "2026-01-01T00:00:30Z");
  EXPECT_EQ(condition(changed, "PodScheduled", "lastTransitionTime"), "2026-01-01T00:00:00Z");
}

TEST(RestartBackoff, DoublesAndForgets) {
  RestartBackoff back_off(seconds(1), seconds(8));
  const seconds brief(2);
  EXPECT_EQ(back_off.next(brief), seconds(0));
  EXPECT_EQ(back_off.next(brief), seconds(1));
  EXPECT_EQ(back_off.next(brief), seconds(2));
  EXPECT_EQ(back_off.next(brief), seconds(4));
  EXPECT_EQ(back_off.next(brief), seconds(8));
  EXPECT_EQ(back_off.next(brief), seconds(8));
  EXPECT_EQ(back_off.next(seconds(15)), seconds(8));
  EXPECT_EQ(back_off.next(seconds(16)), seconds(0));
}

TEST(Restarts, FollowThePolicy) {
  EXPECT_TRUE(restarts("Always", 0));
  EXPECT_TRUE(restarts("", 0));
  EXPECT_FALSE(restarts("OnFailure", 0));
  EXPECT_TRUE(restarts("OnFailure", 1));
  EXPECT_FALSE(restarts("Never", 1));
}

TEST(OutcomeOf, IsAWishOrWhatThePodIsFor) {
  EXPECT_EQ(outcome_of(any_pod("Always")), Outcome::kRun);
  EXPECT_EQ(outcome_of(any_pod("Never")), Outcome::kSucceed);
  Json job = any_pod("OnFailure");
  job["metadata"]["ownerReferences"] = Json::array({{{"kind", "Job"}}});
  EXPECT_EQ(outcome_of(job), Outcome::kSucceed);
  job["metadata"]["annotations"][kOutcomeKey] = "fail";
  EXPECT_EQ(outcome_of(job), Outcome::kFail);
  Json labelled = any_pod();
  labelled["metadata"]["labels"][kOutcomeKey] = "unready";
  EXPECT_EQ(outcome_of(labelled), Outcome::kUnready);
  labelled["metadata"]["labels"][kOutcomeKey] = "something else";
  EXPECT_EQ(outcome_of(labelled), Outcome::kRun);
}

}  // namespace
}  // namespace fleetadm::sandbox
