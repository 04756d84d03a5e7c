// Hosted mode: works, hooks and finalizers of an agent that runs on another cluster than its own.
#include "tests/unit/core/addon/rules/deploy_world.h"

namespace fleetadm::addon::deploy_test {
namespace {

const std::string kHosted = "addon-hello-deploy-hosting-c1-0";
const std::string kHostedHook = "addon-hello-pre-delete-hosting-c1";

/// An agent on the hosting cluster with a hook there, and a CustomResourceDefinition's stand-in on its own.
DeployWorld hosted_world() {
  DeployWorld world(true);
  world.add_cluster("host");
  world.agent.manifests = {config_map("crd"), on_hosting(deployment("agent"))};
  return world;
}

void move_to(DeployWorld& world, const std::string& host) {
  Json addon = world.addon();
  if (host.empty()) {
    addon["metadata"].erase("annotations");
  } else {
    at_or_make(addon, {"metadata", "annotations", kHostingClusterAnnotation}) = host;
  }
  world.put_addon(addon);
  world.settle();
}

TEST(AddonHostedMode, WorksAreOnBothClustersAndBothAreJudged) {
  DeployWorld world = hosted_world();
  world.settle();
  EXPECT_EQ(world.works(), (Names{"c1/addon-hello-deploy-0", "host/" + kHosted}));
  EXPECT_EQ(world.reason("HostingClusterValidity"), "True HostingClusterValid");
  EXPECT_EQ(world.finalizers(), Names{std::string(kHostedManifestsFinalizer)});
  world.report("c1", "addon-hello-deploy-0");
  world.settle();
  EXPECT_EQ(world.reason("Available"), "Unknown WorkNotApplied") << "the work on the hosting cluster is not applied";
  world.report("host", kHosted);
  world.settle();
  EXPECT_EQ(world.reason("Available"), "True ProbeAvailable");
  EXPECT_EQ(world.reason("HostingManifestApplied"), "True AddonManifestApplied");
}

TEST(AddonHostedMode, TheFinalizerIsWrittenBeforeTheFirstHostedWork) {
  DeployWorld world = hosted_world();
  const Pass first = world.pass();
  ASSERT_EQ(first.changed.size(), 2U);
  EXPECT_TRUE(has_finalizer(first.changed[0], kHostedManifestsFinalizer));
  EXPECT_EQ(name_of(first.changed[1]), "addon-hello-deploy-0");
}

TEST(AddonHostedMode, TheFinalizerGoesOnlyAfterTheWorksAreDeleted) {
  DeployWorld world = hosted_world();
  world.settle();
  world.delete_addon();
  const Pass pass = world.pass();
  EXPECT_EQ(pass.deleted, (std::vector<ObjectRef>{{manifest_works(), "host", kHosted}}));
  for (const Json& object : pass.changed) EXPECT_TRUE(has_finalizer(object, kHostedManifestsFinalizer));
  world.settle();
  EXPECT_TRUE(world.addon().is_null());
  EXPECT_EQ(world.works(), Names{});
}

TEST(AddonHostedMode, HooksRunOnBothClustersBeforeAnythingIsRemoved) {
  DeployWorld world = hosted_world();
  world.agent.manifests.push_back(hook("bye"));
  world.agent.manifests.push_back(on_hosting(hook("bye-host")));
  world.settle();
  EXPECT_EQ(world.finalizers().size(), 3U);
  world.delete_addon();
  world.settle();
  EXPECT_EQ(world.works().size(), 4U);
  // The hook of its own cluster ends first: the other one is not taken for complete.
  world.report("c1", "addon-hello-pre-delete");
  world.settle();
  EXPECT_EQ(world.reason("HookManifestCompleted"), "False HookManifestIsNotCompleted");
  EXPECT_TRUE(world.works().contains("host/" + kHosted));
  EXPECT_TRUE(world.finalizers().contains(std::string(kHostedPreDeleteFinalizer)));
  world.report("host", kHostedHook);
  world.settle();
  EXPECT_TRUE(world.addon().is_null());
  EXPECT_EQ(world.works(), Names{});
}

TEST(AddonHostedMode, TheHookOfTheHostingClusterDoesNotEndThatOfItsOwn) {
  DeployWorld world = hosted_world();
  world.agent.manifests.push_back(hook("bye"));
  world.agent.manifests.push_back(on_hosting(hook("bye-host")));
  world.settle();
  world.delete_addon();
  world.settle();
  world.report("host", kHostedHook);
  world.settle();
  EXPECT_EQ(world.finalizers(), Names{std::string(kPreDeleteFinalizer)});
  EXPECT_EQ(world.reason("HookManifestCompleted"), "False HookManifestIsNotCompleted");
  EXPECT_TRUE(world.works().contains("c1/addon-hello-pre-delete"));
}

TEST(AddonHostedMode, NothingStaysOnAClusterThatHostsItNoMore) {
  DeployWorld world = hosted_world();
  world.add_cluster("other");
  world.settle();
  move_to(world, "other");
  EXPECT_EQ(world.works(), (Names{"c1/addon-hello-deploy-0", "other/" + kHosted}));
  move_to(world, "");
  EXPECT_EQ(world.works(), Names{"c1/addon-hello-deploy-0"});
  EXPECT_EQ(world.content("c1", "addon-hello-deploy-0"), (Names{"agent", "crd"}));
  EXPECT_EQ(world.finalizers(), Names{});
  EXPECT_EQ(world.reason("HostingClusterValidity"), "");
}

TEST(AddonHostedMode, AHookOfAnEarlierHostedModeDoesNotHoldTheAddon) {
  DeployWorld world = hosted_world();
  world.agent.manifests.push_back(on_hosting(hook("bye-host")));
  world.settle();
  EXPECT_TRUE(world.finalizers().contains(std::string(kHostedPreDeleteFinalizer)));
  move_to(world, "");
  EXPECT_EQ(world.finalizers(), Names{std::string(kPreDeleteFinalizer)}) << "in the default mode the hook is of its own cluster";
}

TEST(AddonHostedMode, AnUnknownHostingClusterIsSaidAndNothingIsLeftBehind) {
  DeployWorld world = hosted_world();
  world.settle();
  world.objects.remove(managed_clusters(), {}, "host");
  world.settle();
  EXPECT_EQ(world.reason("HostingClusterValidity"), "False HostingClusterInvalid");
  EXPECT_EQ(world.works(), Names{"c1/addon-hello-deploy-0"});
  EXPECT_EQ(world.finalizers(), Names{});
}

TEST(AddonHostedMode, AnEmptyHostingClusterIsTheDefaultMode) {
  DeployWorld world = hosted_world();
  Json addon = world.addon();
  at_or_make(addon, {"metadata", "annotations", kHostingClusterAnnotation}) = "";
  world.put_addon(addon);
  world.settle();
  EXPECT_EQ(world.content("c1", "addon-hello-deploy-0"), (Names{"agent", "crd"}));
  EXPECT_EQ(world.reason("HostingClusterValidity"), "");
}

TEST(AddonHostedMode, AClusterCanHostItsOwnAddon) {
  DeployWorld world = hosted_world();
  move_to(world, "c1");
  EXPECT_EQ(world.content("c1", "addon-hello-deploy-0"), Names{"crd"});
  EXPECT_EQ(world.content("c1", kHosted), Names{"agent"});
  EXPECT_TRUE(world.pass().changed.empty());
  world.delete_addon();
  world.settle();
  EXPECT_EQ(world.works(), Names{});
}

}  // namespace
}  // namespace fleetadm::addon::deploy_test
