#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "core/sandbox/controllers/timers.h"
#include "tests/unit/core/sandbox/controllers/lab.h"

namespace fleetadm::sandbox {
namespace {

using namespace std::chrono_literals;

class CronJobs : public ControllerLab {
 protected:
  void sync() { sync_cron_job(context(), "default", "c"); }
  Json the_cron_job() { return get("batch", "cronjobs", "c"); }
  std::set<std::string> jobs() {
    std::set<std::string> out;
    for (const Json& one : all("batch", "jobs")) out.insert(name_of(one));
    return out;
  }
  std::set<std::string> reasons() {
    std::set<std::string> out;
    for (const Json& one : engine().list(*engine().kinds().find("", "v1", "events"), "default")) out.insert(str(one, {"reason"}));
    return out;
  }
  void end(const std::string& name, const char* type) {
    edit(
        "batch", "jobs", name,
        [&](Json& next) {
          at_or_make(next, {"status", "conditions"}) = Json::array({{{"type", type}, {"status", "True"}}});
          at_or_make(next, {"status", "startTime"}) = format_time(clock_->now());
          at_or_make(next, {"status", "completionTime"}) = format_time(clock_->now());
        },
        "status");
  }
};
using Names = std::set<std::string>;

TEST_F(CronJobs, MakesAJobWhenItsTimeHasCome) {
  make("batch", "cronjobs", cron_job("c", "*/5 * * * *"));
  sync();
  EXPECT_TRUE(jobs().empty());
  EXPECT_EQ(asked(), "2026-01-01T00:05:00Z");
  set_time("2026-01-01T00:05:01Z");
  sync();
  ASSERT_EQ(jobs(), Names{"c-29453765"});
  EXPECT_EQ(asked(), "2026-01-01T00:10:00Z");
  const Json made = get("batch", "jobs", "c-29453765");
  EXPECT_EQ(annotation_of(made, "batch.kubernetes.io/cronjob-scheduled-timestamp"), "2026-01-01T00:05:00Z");
  EXPECT_EQ(controller_uid(made), uid_of(the_cron_job()));
  EXPECT_EQ(str(the_cron_job(), {"status", "lastScheduleTime"}), "2026-01-01T00:05:00Z");
  ASSERT_EQ(list_at(the_cron_job(), {"status", "active"}).size(), 1U);
  sync();
  EXPECT_EQ(jobs().size(), 1U) << "once for each time";
  end("c-29453765", "Complete");
  sync();
  EXPECT_TRUE(list_at(the_cron_job(), {"status", "active"}).empty());
  EXPECT_EQ(str(the_cron_job(), {"status", "lastSuccessfulTime"}), "2026-01-01T00:05:01Z");
  EXPECT_EQ(reasons(), (Names{"SuccessfulCreate", "SawCompletedJob"}));
}

TEST_F(CronJobs, FollowsItsPolicyWhereTheLastJobStillRuns) {
  make("batch", "cronjobs", cron_job("c", "* * * * *"));
  for (int i = 0; i < 2; ++i) {
    pass(1min);
    sync();
  }
  EXPECT_EQ(jobs(), (Names{"c-29453761", "c-29453762"}));
  edit("batch", "cronjobs", "c", [](Json& next) { at_or_make(next, {"spec", "concurrencyPolicy"}) = "Forbid"; });
  pass(1min);
  sync();
  EXPECT_EQ(jobs().size(), 2U);
  EXPECT_TRUE(reasons().contains("JobAlreadyActive"));
  edit("batch", "cronjobs", "c", [](Json& next) { at_or_make(next, {"spec", "concurrencyPolicy"}) = "Replace"; });
  sync();
  EXPECT_EQ(jobs(), Names{"c-29453763"});
  EXPECT_TRUE(reasons().contains("SuccessfulDelete"));
}

TEST_F(CronJobs, RestsWhileItIsSuspendedAndSkipsWhatIsTooLate) {
  make("batch", "cronjobs", cron_job("c", "*/10 * * * *", {{"suspend", true}, {"startingDeadlineSeconds", 60}}));
  set_time("2026-01-01T00:10:01Z");
  sync();
  EXPECT_TRUE(jobs().empty());
  EXPECT_EQ(asked(), "never");
  set_time("2026-01-01T00:15:00Z");
  edit("batch", "cronjobs", "c", [](Json& next) { at_or_make(next, {"spec", "suspend"}) = false; });
  sync();
  EXPECT_TRUE(jobs().empty()) << "the deadline has passed";
  EXPECT_EQ(asked(), "2026-01-01T00:20:00Z");
  set_time("2026-01-01T00:20:30Z");
  sync();
  EXPECT_EQ(jobs(), Names{"c-29453780"});
}

TEST_F(CronJobs, ForgetsOldJobs) {
  make("batch", "cronjobs", cron_job("c", "* * * * *", {{"successfulJobsHistoryLimit", 2}, {"failedJobsHistoryLimit", 0}}));
  for (int i = 0; i < 4; ++i) {
    pass(1min);
    sync();
    end("c-" + std::to_string(29453761 + i), i == 3 ? "Failed" : "Complete");
    sync();
  }
  EXPECT_EQ(jobs(), (Names{"c-29453762", "c-29453763"}));
}

TEST_F(CronJobs, StartsTheLastOfManyMissedTimesAndSaysSo) {
  make("batch", "cronjobs", cron_job("c", "* * * * *"));
  set_time("2026-01-02T00:00:05Z");
  sync();
  EXPECT_EQ(jobs(), Names{"c-29455200"});
  EXPECT_TRUE(reasons().contains("TooManyMissedTimes"));
}

TEST_F(CronJobs, TellsOfAJobThatIsGone) {
  make("batch", "cronjobs", cron_job("c", "0 * * * *"));
  set_time("2026-01-01T01:00:05Z");
  sync();
  remove(context(), *kind("batch", "jobs"), all("batch", "jobs").front());
  sync();
  EXPECT_TRUE(list_at(the_cron_job(), {"status", "active"}).empty());
  EXPECT_TRUE(reasons().contains("MissingJob"));
  EXPECT_TRUE(jobs().empty()) << "that time is over";
}

TEST_F(CronJobs, SchedulesAndZonesAreChecked) {
  const auto refused = [&](const Json& object) {
    const auto made = try_make("batch", "cronjobs", object);
    return made ? std::string() : made.error().message;
  };
  EXPECT_EQ(refused(cron_job("c", "bad")),
            "CronJob.batch \"c\" is invalid: spec.schedule: Invalid value: \"bad\": expected exactly 5 fields, found 1: [bad]");
  EXPECT_EQ(refused(cron_job("c", "@daily", {{"timeZone", "Mars/Olympus"}})),
            "CronJob.batch \"c\" is invalid: spec.timeZone: Invalid value: \"Mars/Olympus\": unknown time zone Mars/Olympus");
  EXPECT_EQ(refused(cron_job("c", "TZ=UTC 0 0 * * *")),
            "CronJob.batch \"c\" is invalid: spec.schedule: Invalid value: \"TZ=UTC 0 0 * * *\": cannot use TZ or CRON_TZ in "
            "schedule, use timeZone field instead");
  EXPECT_NE(refused(cron_job(std::string(53, 'c'), "@daily")).find("must be no more than 52 characters"), std::string::npos);
  EXPECT_EQ(refused(cron_job("c", "@daily", {{"timeZone", "UTC"}})), "");
}

TEST_F(CronJobs, TheManagerCallsAtTheTime) {
  std::vector<std::function<void()>> naps;
  ControllerManager manager(
      *server_, ca_,
      [](const std::function<void()>& task) {
        task();
        return true;
      },
      [&](Duration wait, std::function<void()> task) {
        EXPECT_GT(wait, Duration::zero());
        naps.push_back(std::move(task));
      });
  manager.start();
  make("batch", "cronjobs", cron_job("c", "*/5 * * * *"));
  const auto wake = [&] {
    const auto due = std::exchange(naps, {});
    for (const auto& task : due) task();
  };
  wake();
  EXPECT_TRUE(jobs().empty()) << "it is not time yet";
  set_time("2026-01-01T00:05:01Z");
  wake();
  EXPECT_EQ(jobs().size(), 1U);
  EXPECT_LE(naps.size(), 2U) << "naps do not heap up";
}

TEST(Timers, CallInOrderAndForgetWhenTheyGo) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int> called;
  const auto note = [&](int which) {
    return [&, which] {
      const std::lock_guard lock(mutex);
      called.push_back(which);
      changed.notify_all();
    };
  };
  {
    const auto timers = std::make_shared<Timers>();
    const auto later = Timers::of(timers);
    later(30ms, note(2));
    later(1ms, note(1));
    later(1h, note(3));
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, 10s, [&] { return called.size() == 2; }));
  }
  EXPECT_EQ(called, (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace fleetadm::sandbox
