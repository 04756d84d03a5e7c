#include "tests/unit/core/addon/hub/deploy_fixture.h"

namespace fleetadm::addon::deploy_test {
namespace {

using WorkNames = std::set<std::string>;

TEST_F(DeployHub, ASecondPassWritesNothing) {
  agent.manifests = {object("apps/v1", "DaemonSet", "agent"), object("v1", "ConfigMap", "cm", true), hook("bye")};
  enable(true);
  DeployLife hub(api, clock, agent);
  ASSERT_TRUE(hub.settle());
  agents();
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(works(), (WorkNames{"c1/addon-hello-deploy-0", "host/addon-hello-deploy-hosting-c1-0"}));
  const int before = hub.written();
  DeployLife again(api, clock, agent);
  ASSERT_TRUE(again.settle());
  EXPECT_EQ(hub.written(), before);
  EXPECT_EQ(again.written(), 0);
}

TEST_F(DeployHub, AWorkWhoseLabelSomebodyRemovedGetsItBack) {
  agent.manifests = {object("v1", "ConfigMap", "cm")};
  enable(false);
  DeployLife hub(api, clock, agent);
  ASSERT_TRUE(hub.settle());
  Json work = *api->get(api::manifest_works(), "c1", "addon-hello-deploy-0");
  const Json labels = work["metadata"]["labels"];
  work["metadata"].erase("labels");
  api->put(api::manifest_works(), work);
  clock->advance(std::chrono::seconds(6));  // until then the cache could be late with the hub's own work
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(works(), WorkNames{"c1/addon-hello-deploy-0"});
  EXPECT_EQ(api->get(api::manifest_works(), "c1", "addon-hello-deploy-0")->at("metadata").at("labels"), labels);
}

TEST_F(DeployHub, AWorkOfSomebodyElseInTheWayIsLeftAlone) {
  Json foreign{{"apiVersion", "work.open-cluster-management.io/v1"}, {"kind", "ManifestWork"}};
  foreign["metadata"] = Json{{"name", "addon-hello-deploy-0"}, {"namespace", "c1"}};
  foreign["spec"] = Json::object({{"theirs", true}});
  api->put(api::manifest_works(), foreign);
  agent.manifests = {object("v1", "ConfigMap", "cm")};
  enable(false);
  DeployLife hub(api, clock, agent);
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(works(), (WorkNames{"c1/addon-hello-deploy-0", "c1/addon-hello-deploy-1"}));
  EXPECT_EQ(api->get(api::manifest_works(), "c1", "addon-hello-deploy-0")->at("spec"), foreign["spec"]);
}

TEST_F(DeployHub, AWorkThatIsRefusedIsSaidOnceAndRetried) {
  agent.manifests = {object("v1", "ConfigMap", "cm")};
  enable(false);
  api->fail_next("create", "manifestworks", 403, "Forbidden", 1000);
  DeployLife hub(api, clock, agent);
  ASSERT_TRUE(hub.settle());
  ASSERT_FALSE(hub.last());
  const Json* said = nullptr;
  const Json after = *addon();
  said = controller::find_condition(after, "ManifestApplied");
  ASSERT_NE(said, nullptr);
  EXPECT_EQ(str(*said, {"reason"}), "ManifestWorkApplyFailed");
  EXPECT_TRUE(str(*said, {"message"}).starts_with("failed to apply manifestWork: ")) << dump_json(*said);
  clock->advance(std::chrono::minutes(1));
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(*addon(), after) << "the same failure is not written again";
}

TEST_F(DeployHub, WithoutAClusterNothingIsWritten) {
  agent.manifests = {object("v1", "ConfigMap", "cm")};
  enable(false);
  api->erase(api::managed_clusters(), {}, "c1");
  DeployLife hub(api, clock, agent);
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(hub.written(), 0);
}

/// The hub is killed after its k-th write, for every k, and started again: the end is that of an undisturbed run.
class DeployCrash : public DeployHub {
 protected:
  using Step = std::function<void()>;

  void compare(const std::vector<Step>& steps) {
    const auto run_step = [](DeployCrash& world, DeployLife& hub) {
      for (int turn = 0; turn < 6; turn++) {
        if (!hub.settle() || hub.killed()) return;
        world.agents();
      }
    };
    reset();
    int writes = 0;
    {
      DeployLife hub(api, clock, agent);
      for (const Step& step : steps) {
        step();
        run_step(*this, hub);
      }
      writes = hub.written();
    }
    const std::string wanted = state();
    ASSERT_GT(writes, 1);
    for (int k = 0; k < writes; k++) {
      reset();
      auto hub = std::make_unique<DeployLife>(api, clock, agent, k);
      for (const Step& step : steps) {
        step();
        run_step(*this, *hub);
        if (hub->killed()) {
          hub = std::make_unique<DeployLife>(api, clock, agent);
          run_step(*this, *hub);
        }
      }
      ASSERT_EQ(state(), wanted) << "killed after write " << k;
    }
  }

  void first_agent() {
    agent.manifests = {object("apps/v1", "DaemonSet", "agent", true), object("v1", "ConfigMap", "cm"), hook("bye"),
                       hook("bye-host", true)};
  }
  /// One manifest less, one more, one changed.
  void second_agent() {
    Json changed = object("v1", "ConfigMap", "cm");
    changed["data"] = Json::object({{"v", "2"}});
    agent.manifests = {changed, object("v1", "ConfigMap", "more", true), hook("bye"), hook("bye-host", true)};
    configure(*addon(), "2");
  }
};

TEST_F(DeployCrash, EnableUpgradeAndDisableWithHook) {
  compare({[this] { first_agent(), enable(false); }, [this] { second_agent(); }});
  compare({[this] { first_agent(), enable(false); }, [this] { second_agent(); }, [this] { disable(); }});
  EXPECT_EQ(works(), WorkNames{}) << state();
  EXPECT_EQ(ran, (WorkNames{"bye", "bye-host"}));
}

TEST_F(DeployCrash, EnableUpgradeAndDisableHostedWithHooks) {
  compare({[this] { first_agent(), enable(true); }, [this] { second_agent(); }});
  EXPECT_EQ(works().size(), 2U);
  compare({[this] { first_agent(), enable(true); }, [this] { second_agent(); }, [this] { disable(); }});
  EXPECT_EQ(works(), WorkNames{});
  EXPECT_EQ(ran, (WorkNames{"bye", "bye-host"}));
}

TEST_F(DeployCrash, ARemovedAgentLeavesNothing) {
  compare({[this] { first_agent(), enable(true); },
           [this] {
             agent.manifests.clear();
             configure(*addon(), "3");
           }});
  EXPECT_EQ(works(), WorkNames{});
}

}  // namespace
}  // namespace fleetadm::addon::deploy_test
