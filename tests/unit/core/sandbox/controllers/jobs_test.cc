// Jobs and Deployments as time passes.
#include "core/sandbox/controllers/events.h"
#include "tests/unit/core/sandbox/controllers/lab.h"

namespace fleetadm::sandbox {
namespace {

using namespace std::chrono_literals;

class TimedWorkloads : public ControllerLab {
 protected:
  void sync() { sync_job(context(), "default", "j"); }
  Json the_job() { return get("batch", "jobs", "j"); }
};

TEST_F(TimedWorkloads, AJobThatRunsForTooLongFails) {
  make("batch", "jobs", job("j", {{"activeDeadlineSeconds", 20}}));
  sync();
  ASSERT_EQ(all("", "pods").size(), 1U);
  sync();
  EXPECT_EQ(asked(), "2026-01-01T00:00:51Z");
  pass(21s);
  sync();
  EXPECT_EQ(condition(the_job(), "Failed"), "True DeadlineExceeded");
  EXPECT_TRUE(all("", "pods").empty());
}

TEST_F(TimedWorkloads, AJobThatIsOverGoesWhenItsTimeHasCome) {
  make("batch", "jobs", job("j", {{"ttlSecondsAfterFinished", 60}}));
  sync();
  set_pod(name_of(all("", "pods").front()), "Succeeded");
  sync();
  ASSERT_EQ(condition(the_job(), "Complete"), "True CompletionsReached");
  sync();
  EXPECT_EQ(asked(), "2026-01-01T00:01:30Z");
  pass(61s);
  sync();
  const auto left = engine().get(*kind("batch", "jobs"), "default", "j");
  EXPECT_TRUE(!left || is_deleting(*left));
}

TEST_F(TimedWorkloads, AFailedPodIsMadeAnewAfterAWaitThatDoubles) {
  make("batch", "jobs", job("j"));
  const auto fail_last = [&] {
    for (const Json& pod : all("", "pods")) {
      if (!pod_finished(pod)) set_pod(name_of(pod), "Failed");
    }
    sync();
  };
  sync();
  fail_last();
  EXPECT_EQ(all("", "pods").size(), 1U);
  EXPECT_EQ(asked(), "2026-01-01T00:00:40Z");
  pass(10s);
  sync();
  ASSERT_EQ(all("", "pods").size(), 2U);
  asked();
  fail_last();
  EXPECT_EQ(asked(), "2026-01-01T00:01:00Z");
}

TEST_F(TimedWorkloads, ASuspendedJobSaysSoAndBeginsAnew) {
  make("batch", "jobs", job("j"));
  sync();
  edit("batch", "jobs", "j", [](Json& next) { at_or_make(next, {"spec", "suspend"}) = true; });
  sync();
  EXPECT_EQ(condition(the_job(), "Suspended"), "True JobSuspended");
  EXPECT_TRUE(all("", "pods").empty());
  pass(1min);
  edit("batch", "jobs", "j", [](Json& next) { at_or_make(next, {"spec", "suspend"}) = false; });
  sync();
  EXPECT_EQ(condition(the_job(), "Suspended"), "False JobResumed");
  EXPECT_EQ(str(the_job(), {"status", "startTime"}), "2026-01-01T00:01:30Z");
  EXPECT_EQ(all("", "pods").size(), 1U);
}

TEST_F(TimedWorkloads, APodIsAvailableOnceItHasBeenReadyForLongEnough) {
  make("apps", "replicasets", workload("r", {{"replicas", 1}, {"minReadySeconds", 30}}));
  sync_replica_set(context(), "default", "r");
  set_pod(name_of(all("", "pods").front()), "Running");
  sync_replica_set(context(), "default", "r");
  EXPECT_EQ(num(get("apps", "replicasets", "r"), {"status", "readyReplicas"}), 1);
  EXPECT_EQ(num(get("apps", "replicasets", "r"), {"status", "availableReplicas"}), 0);
  EXPECT_EQ(asked(), "2026-01-01T00:01:00Z");
  pass(30s);
  sync_replica_set(context(), "default", "r");
  EXPECT_EQ(num(get("apps", "replicasets", "r"), {"status", "availableReplicas"}), 1);
}

TEST_F(TimedWorkloads, ARolloutWithoutProgressFailsByItsDeadline) {
  make("apps", "deployments", workload("d", {{"replicas", 1}, {"progressDeadlineSeconds", 60}, {"minReadySeconds", 5}}));
  const auto step = [&] {
    sync_deployment(context(), "default", "d");
    for (const Json& set : all("apps", "replicasets")) sync_replica_set(context(), "default", name_of(set));
    sync_deployment(context(), "default", "d");
  };
  step();
  step();
  ASSERT_EQ(all("", "pods").size(), 1U);
  EXPECT_EQ(num(all("apps", "replicasets").front(), {"spec", "minReadySeconds"}), 5);
  EXPECT_EQ(condition(get("apps", "deployments", "d"), "Progressing"), "True ReplicaSetUpdated");
  EXPECT_EQ(asked(), "2026-01-01T00:01:31Z");
  pass(61s);
  step();
  EXPECT_EQ(condition(get("apps", "deployments", "d"), "Progressing"), "False ProgressDeadlineExceeded");
  set_pod(name_of(all("", "pods").front()), "Running");
  step();
  EXPECT_EQ(condition(get("apps", "deployments", "d"), "Progressing"), "True ReplicaSetUpdated") << "it goes on";
  pass(6s);
  step();
  EXPECT_EQ(condition(get("apps", "deployments", "d"), "Progressing"), "True NewReplicaSetAvailable");
}

TEST_F(TimedWorkloads, AnEventIsForgottenAnHourAfterItWasLastTold) {
  const auto events = engine().kinds().find("", "v1", "events");
  make("batch", "jobs", job("j"));
  record_event(context(), the_job(), "test", "Normal", "Tested", "hello");
  pass(30min);
  record_event(context(), the_job(), "test", "Normal", "Tested", "hello");
  ASSERT_EQ(engine().list(*events, "default").size(), 1U);
  const Json event = engine().list(*events, "default").front();
  EXPECT_EQ(num(event, {"count"}), 2);
  sync_event(context(), "default", name_of(event));
  EXPECT_EQ(asked(), "2026-01-01T01:30:30Z");
  pass(1h);
  sync_event(context(), "default", name_of(event));
  EXPECT_TRUE(engine().list(*events, "default").empty());
}

}  // namespace
}  // namespace fleetadm::sandbox
