// Crash tests: the hub is killed after its k-th write, for every k, and started again; the end is that of an undisturbed run.
#include "tests/unit/core/registration/hub_fixture.h"

namespace fleetadm::registration::hub {
namespace {

class CrashTest : public HubTest {
 protected:
  /// `begin` makes the starting point, `steps` are what people and agents do while the hub runs.
  using Step = std::function<void(CrashTest&)>;
  /// Kills begin with step `from`: what comes before is another test's.
  void compare(const std::vector<Step>& steps, std::size_t from = 0) {
    int first = 0;
    int writes = 0;
    const auto reset = [this] {
      clock = std::make_shared<FakeClock>(*parse_time("2026-01-01T00:00:00Z"));
      api = testkit::FakeApi::make(clock);
    };
    const auto finish = [this] { agent_finishes_works(); };
    reset();
    {
      HubLife hub(api, clock);
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (i == from) first = hub.written();
        steps[i](*this);
        hub.settle(finish);
        finish();
        ASSERT_TRUE(hub.settle(finish));
      }
      writes = hub.written();
    }
    const std::string wanted = state();
    ASSERT_GT(writes, first + 1) << "one write has no state in between";
    int killed = 0;
    for (int k = first; k <= writes; ++k) {
      reset();
      auto hub = std::make_unique<HubLife>(api, clock, k);
      for (const Step& step : steps) {
        step(*this);
        for (int tries = 0; tries < 5; ++tries) {
          const bool settled = hub->settle(finish);
          if (hub->killed()) {
            ++killed;
            hub = std::make_unique<HubLife>(api, clock);
            continue;
          }
          finish();
          if (settled && hub->settle(finish)) break;
        }
      }
      ASSERT_EQ(state(), wanted) << "killed after write " << k;
    }
    EXPECT_EQ(killed, writes - first) << "every limit but the last is met";
  }
};

TEST_F(CrashTest, Acceptance) {
  compare({[](CrashTest& t) { t.put_cluster("c1", true); }});
}

TEST_F(CrashTest, DenyAndAcceptAgain) {
  compare({[](CrashTest& t) { t.put_cluster("c1", true); }, [](CrashTest& t) { t.accept("c1", false); },
           [](CrashTest& t) { t.accept("c1", true); }},
          1);
}

TEST_F(CrashTest, Denial) {
  compare({[](CrashTest& t) { t.put_cluster("c1", true); }, [](CrashTest& t) { t.accept("c1", false); }}, 1);
}

TEST_F(CrashTest, DeletionWithWorks) {
  compare({[](CrashTest& t) {
             t.put_cluster("c1", true);
             t.put_cluster("c2", true);
           },
           [](CrashTest& t) {
             t.put_work("c1", "w1");
             t.put_work("c1", "w2");
             t.put_work("c2", "w1");
           },
           [](CrashTest& t) { t.start_deletion(api::managed_clusters(), {}, "c1"); }},
          2);
}

TEST_F(CrashTest, ExpiredLease) {
  // An available cluster: one that never was has its taint already, and expiry is then a single write.
  compare({[](CrashTest& t) { t.put_cluster("c1", true); },
           [](CrashTest& t) {
             t.renew("c1", t.clock->now());
             t.set_available("c1", "True");
           },
           [](CrashTest& t) { t.clock->advance(std::chrono::seconds(301)); }},
          2);
}

}  // namespace
}  // namespace fleetadm::registration::hub
