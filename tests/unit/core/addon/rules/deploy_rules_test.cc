// Where the deploy rule answers otherwise than upstream's, on purpose; and that what it wants does not change by being written.
#include "core/addon/rules/failed_write.h"
#include "core/addon/rules/manifest_marks.h"
#include "core/addon/rules/packing.h"
#include "core/addon/rules/template_agent.h"
#include "tests/unit/core/addon/rules/deploy_world.h"

namespace fleetadm::addon::deploy_test {
namespace {

TEST(AddonDeployRules, ASecondPassWritesNothing) {
  DeployWorld world;
  world.agent.manifests = {deployment("d1"), config_map("cm1"), hook("bye")};
  EXPECT_TRUE(world.settle().empty());
  EXPECT_EQ(world.works(), (Names{"c1/addon-hello-deploy-0"}));
  world.report("c1", "addon-hello-deploy-0");
  EXPECT_TRUE(world.settle().empty());
  EXPECT_EQ(world.reason("ManifestApplied"), "True AddonManifestApplied");
  EXPECT_EQ(world.reason("Available"), "True ProbeAvailable");
  EXPECT_TRUE(world.pass().changed.empty());
}

TEST(AddonDeployRules, WhatAServerFillsInIsNoDifference) {
  DeployWorld world;
  world.agent.manifests = {deployment("d1")};
  world.agent.manifest_configs = Json::array({Json{
      {"resourceIdentifier", resource_identifier(deployment("d1"))},
      {"updateStrategy", Json::object({{"type", "ServerSideApply"}, {"serverSideApply", Json::object({{"force", true}})}})}}});
  world.settle();
  Json work = world.work("c1", "addon-hello-deploy-0");
  Json& config = work["spec"]["manifestConfigs"][0];
  config["feedbackScrapeType"] = "Poll";
  config["updateStrategy"]["serverSideApply"]["fieldManager"] = "work-agent";
  work["metadata"]["creationTimestamp"] = "2026-03-01T12:00:00Z";
  work["metadata"]["finalizers"] = Json::array({"cluster.open-cluster-management.io/manifest-work-cleanup"});
  world.objects.put(work);
  EXPECT_TRUE(world.pass().changed.empty());
  config["updateStrategy"]["type"] = "Update";
  world.objects.put(work);
  EXPECT_EQ(world.pass().changed.size(), 1U);
}

TEST(AddonDeployRules, OfASpecificationItsHashIsEnough) {
  DeployWorld world;
  world.agent.manifests = {deployment("d1"), config_map("cm1"), config_map("cm2", kPackLimit - 200)};
  world.settle();
  ASSERT_EQ(world.works().size(), 2U);
  const auto keep_hashes = [&] {
    for (const ObjectPtr& one : world.objects.list(manifest_works())) {
      Json lean = *one;
      keep_spec_as_hash(lean);
      EXPECT_EQ(find(lean, {"spec", "workload", "manifests"})->dump().find("xxx"), std::string::npos);
      world.objects.put(std::move(lean));
    }
  };
  keep_hashes();
  EXPECT_TRUE(world.pass().changed.empty());
  Json status = Json::object();
  status["configReferences"] =
      Json::array({{{"group", "g"}, {"resource", "r"}, {"desiredConfig", {{"name", "n"}, {"specHash", "h"}}}}});
  Json addon = world.addon();
  addon["status"].update(status);
  world.put_addon(addon);
  for (const Json& work : world.pass().changed) {
    const ObjectPtr lean = world.objects.get(manifest_works(), "c1", name_of(work));
    EXPECT_EQ(work["spec"], (*lean)["spec"]) << "an annotation alone leaves the specification out";
    EXPECT_EQ(find(work, {"metadata", "specHash"}), nullptr);
  }
  addon["status"].erase("configReferences");
  world.put_addon(addon);
  world.agent.manifests[1]["data"]["v"] = "other";
  const Pass pass = world.pass();
  ASSERT_EQ(pass.changed.size(), 1U);
  const Json& manifests = list_at(pass.changed[0], {"spec", "workload", "manifests"});
  EXPECT_NE(std::find(manifests.begin(), manifests.end(), world.agent.manifests[1]), manifests.end());
  EXPECT_EQ(manifests.size(), 2U) << "each manifest stays where it is";
}

TEST(AddonDeployRules, AnAddonThatRendersNothingAnyMoreLosesItsWorks) {
  for (const bool hosted : {false, true}) {
    DeployWorld world(hosted);
    world.add_cluster("host");
    world.agent.manifests = {config_map("cm1"), on_hosting(config_map("cm2"))};
    world.settle();
    EXPECT_EQ(world.works().size(), hosted ? 2U : 1U);
    world.agent.manifests.clear();
    EXPECT_TRUE(world.pass(rollout::Semantics::kUpstream).deleted.empty());
    world.settle();
    EXPECT_EQ(world.works(), Names{});
    EXPECT_EQ(world.reason("ManifestApplied"), "True AddonManifestApplied");
  }
}

TEST(AddonDeployRules, NoFinalizerIsAddedToWhatIsBeingDeleted) {
  for (const bool hosted : {false, true}) {
    DeployWorld world(hosted);
    world.add_cluster("host");
    world.agent.manifests = {config_map("cm1"), hook("bye"), on_hosting(hook("bye-host")), on_hosting(config_map("cm2"))};
    Json addon = world.addon();
    addon["metadata"]["finalizers"] = Json::array({"someone/else"});
    world.put_addon(addon);
    world.delete_addon();
    EXPECT_FALSE(world.pass(rollout::Semantics::kUpstream).errors.empty());
    EXPECT_TRUE(world.settle().empty());
    EXPECT_EQ(world.finalizers(), Names{"someone/else"});
    EXPECT_EQ(world.works(), Names{}) << "nothing is deployed that no finalizer would remove again";
  }
}

TEST(AddonDeployRules, AnAddonThatIsNotConfiguredKeepsItsHook) {
  DeployWorld world;
  world.agent.manifests = {config_map("cm1"), hook("bye")};
  world.settle();
  EXPECT_EQ(world.finalizers(), Names{std::string(kPreDeleteFinalizer)});
  world.set_condition("Configured", "False");
  world.delete_addon();
  const Pass upstream = world.pass(rollout::Semantics::kUpstream);
  ASSERT_EQ(upstream.changed.size(), 1U);
  EXPECT_TRUE(list_at(upstream.changed[0], {"metadata", "finalizers"}).empty());
  world.settle();
  EXPECT_EQ(world.finalizers(), Names{std::string(kPreDeleteFinalizer)});
  world.set_condition("Configured", "True");
  world.settle();
  EXPECT_TRUE(world.works().contains("c1/addon-hello-pre-delete"));
  world.report("c1", "addon-hello-pre-delete");
  world.settle();
  EXPECT_TRUE(world.addon().is_null());
  EXPECT_EQ(world.works(), Names{});
}

TEST(AddonDeployRules, WhatCannotBeRenderedYetStaysAsItIsDeployed) {
  DeployWorld world;
  world.agent.manifests = {config_map("cm1"), hook("bye")};
  world.settle();
  world.agent.manifests.clear();
  world.agent.held = true;
  EXPECT_TRUE(world.pass().changed.empty());
  EXPECT_TRUE(world.pass().deleted.empty());
  EXPECT_EQ(world.finalizers(), Names{std::string(kPreDeleteFinalizer)});
}

TEST(AddonDeployRules, WhatIsDeployedIsJudgedAlsoWhereRenderingFails) {
  for (const bool held : {false, true}) {
    DeployWorld world;
    world.agent.manifests = {deployment("d1")};
    world.settle();
    world.report("c1", "addon-hello-deploy-0");
    world.settle();
    EXPECT_EQ(world.reason("Available"), "True ProbeAvailable");
    world.agent.manifests.clear();
    world.agent.held = held;
    if (!held) world.agent.error = Error{};
    Json work = world.work("c1", "addon-hello-deploy-0");
    work["status"]["resourceStatus"]["manifests"][0]["statusFeedback"]["values"].clear();
    world.objects.put(work);
    world.settle();
    EXPECT_EQ(world.reason("Available"), "Unknown NoProbeResult");
  }
}

TEST(AddonDeployRules, ANewWorkNeverTakesTheNameOfAnother) {
  DeployWorld world;
  world.agent.manifests = {config_map("a", 300000), config_map("b", 300000), config_map("c", 300000)};
  world.settle();
  EXPECT_EQ(world.works(), (Names{"c1/addon-hello-deploy-0", "c1/addon-hello-deploy-1", "c1/addon-hello-deploy-2"}));
  EXPECT_EQ(world.content("c1", "addon-hello-deploy-1"), Names{"b"});
  // Without the first manifest two works are left, and the next one is counted as number 2, which there is.
  world.agent.manifests.erase(world.agent.manifests.begin());
  world.settle();
  EXPECT_EQ(world.works(), (Names{"c1/addon-hello-deploy-1", "c1/addon-hello-deploy-2"}));
  world.agent.manifests.push_back(config_map("d", 300000));
  world.settle();
  EXPECT_EQ(world.works(), (Names{"c1/addon-hello-deploy-1", "c1/addon-hello-deploy-2", "c1/addon-hello-deploy-3"}));
  EXPECT_EQ(world.content("c1", "addon-hello-deploy-2"), Names{"c"});
  EXPECT_EQ(world.content("c1", "addon-hello-deploy-3"), Names{"d"});
}

TEST(AddonDeployRules, AWorkOfSomebodyElseIsLeftAlone) {
  DeployWorld world;
  Json foreign{{"apiVersion", "work.open-cluster-management.io/v1"}, {"kind", "ManifestWork"}};
  foreign["metadata"] = Json{{"name", "addon-hello-deploy-0"}, {"namespace", "c1"}};
  world.objects.put(foreign);
  world.agent.manifests = {config_map("cm1")};
  world.settle();
  EXPECT_EQ(world.work("c1", "addon-hello-deploy-0"), foreign);
  EXPECT_EQ(world.content("c1", "addon-hello-deploy-1"), Names{"cm1"});
}

TEST(AddonDeployRules, WhatIsLargerThanAWorkMayBeIsSaidAndNothingIsChanged) {
  DeployWorld world;
  world.agent.manifests = {config_map("cm1")};
  world.settle();
  world.agent.manifests.push_back(config_map("huge", 600000));
  const std::vector<Error> errors = world.settle();
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NE(errors[0].message.find("ConfigMap agents/huge"), std::string::npos) << errors[0].message;
  EXPECT_EQ(world.reason("ManifestApplied"), "False ManifestWorkApplyFailed");
  EXPECT_EQ(world.content("c1", "addon-hello-deploy-0"), Names{"cm1"});
}

TEST(AddonDeployRules, AWorkThatOutgrowsItsSizeGivesManifestsAway) {
  DeployWorld world;
  world.agent.manifests = {config_map("a", 190000), config_map("b", 190000)};
  world.settle();
  EXPECT_EQ(world.works().size(), 1U);
  world.agent.manifests = {config_map("a", 300000), config_map("b", 300000)};
  const Pass pass = world.pass();
  ASSERT_GE(pass.changed.size(), 2U);
  EXPECT_EQ(name_of(pass.changed[0]), "addon-hello-deploy-1") << "a manifest is in its new work before it leaves the old one";
  world.settle();
  EXPECT_EQ(world.content("c1", "addon-hello-deploy-0").size(), 1U);
  EXPECT_EQ(world.content("c1", "addon-hello-deploy-1").size(), 1U);
}

TEST(AddonDeployRules, AManifestThatFillsAWorkIsAloneInItAndMakesNoEmptyOne) {
  DeployWorld world;
  world.agent.manifests = {config_map("a", 450000), config_map("b", 450000)};
  world.settle();
  EXPECT_EQ(world.works(), (Names{"c1/addon-hello-deploy-0", "c1/addon-hello-deploy-1"}));
  EXPECT_EQ(world.content("c1", "addon-hello-deploy-0").size(), 1U);
}

TEST(AddonDeployRules, AHookIsCompleteWhateverIsListedBeforeIt) {
  DeployWorld world;
  world.agent.manifests = {config_map("cm1"), hook("bye")};
  world.settle();
  world.delete_addon();
  world.settle();
  world.report("c1", "addon-hello-pre-delete");
  Json work = world.work("c1", "addon-hello-pre-delete");
  Json& entries = work["status"]["resourceStatus"]["manifests"];
  entries.insert(entries.begin(), Json::object({{"resourceMeta", Json::object({{"name", "silent"}})}}));
  world.objects.put(work);
  world.settle();
  EXPECT_TRUE(world.addon().is_null());
}

TEST(AddonDeployRules, AnAddonWhoseClusterIsGoneIsLetGo) {
  DeployWorld world(true);
  world.add_cluster("host");
  world.agent.manifests = {config_map("cm1"), on_hosting(config_map("cm2")), hook("bye"), on_hosting(hook("bye-host"))};
  world.settle();
  EXPECT_EQ(world.finalizers().size(), 3U);
  world.objects.remove(managed_clusters(), {}, "c1");
  EXPECT_TRUE(world.pass().changed.empty()) << "only under deletion";
  world.delete_addon();
  EXPECT_TRUE(world.pass(rollout::Semantics::kUpstream).changed.empty());
  world.settle();
  EXPECT_TRUE(world.addon().is_null());
  EXPECT_EQ(world.works(), Names{});
}

/// An add-on with a template that does not exist (any more), held by the finalizer of its hook.
void lose_template(DeployWorld& world) {
  Json addon = world.addon();
  addon["metadata"]["finalizers"] = Json::array({std::string(kPreDeleteFinalizer)});
  const Json type{{"group", std::string(kGroup)}, {"resource", std::string(kTemplates)}};
  addon["status"]["supportedConfigs"] = Json::array({type});
  addon["status"]["configReferences"] = Json::array({type});
  addon["status"]["configReferences"][0]["desiredConfig"] = {{"name", "gone"}, {"specHash", "h"}};
  world.put_addon(std::move(addon));
}

TEST(AddonDeployRules, AnAddonWhoseTemplateIsGoneIsLetGo) {
  for (const bool referenced : {true, false}) {
    SCOPED_TRACE(referenced);
    DeployWorld world;
    lose_template(world);
    Json addon = world.addon();
    if (!referenced) addon["status"].erase("configReferences");
    controller::set_condition(addon["status"]["conditions"], "Configured", "False", "Test", "", world.now);
    world.put_addon(addon);
    const auto describe = [&] { return template_agent(world.objects, world.addon(), rollout::Semantics::kStrict); };
    if (referenced) {
      world.agent = *describe();
      EXPECT_FALSE(world.agent.lost) << "it may come back while the add-on is wanted";
      world.settle();
      EXPECT_EQ(world.finalizers().size(), 1U);
    } else {
      EXPECT_FALSE(describe()) << "whose it is is not known";
    }
    world.delete_addon();
    world.agent = *describe();
    EXPECT_TRUE(world.agent.lost);
    EXPECT_FALSE(template_agent(world.objects, world.addon(), rollout::Semantics::kUpstream).value_or(AgentDescription{}).lost);
    world.settle();
    EXPECT_TRUE(world.addon().is_null());
  }
}

TEST(AddonDeployRules, AHookThatRunsIsWaitedForAlsoWhenItsTemplateIsGone) {
  DeployWorld world;
  world.agent.manifests = {hook("bye")};
  world.settle();
  world.delete_addon();
  world.settle();
  ASSERT_EQ(world.works(), Names{"c1/addon-hello-pre-delete"});
  world.agent.manifests.clear();
  world.agent.error = fail(Category::kNotFound, "gone").value();
  world.agent.lost = true;
  world.settle();
  ASSERT_FALSE(world.addon().is_null());
  world.report("c1", "addon-hello-pre-delete");
  world.settle();
  EXPECT_TRUE(world.addon().is_null());
}

TEST(AddonDeployRules, AFailureThatLastsIsSaidOnce) {
  DeployWorld world;
  const Json before = world.addon();
  Error error;
  error.message = "the webhook said no";
  const Json first = with_failed_work(before, before, Side::kManaged, error, world.now);
  EXPECT_NE(first, before);
  // The next pass removes what is said, as the work is not applied, and fails again later.
  const Json second = with_failed_work(first, before, Side::kManaged, error, world.now + std::chrono::hours(1));
  EXPECT_EQ(second, first);
  world.put_addon(second);
  EXPECT_EQ(world.reason("ManifestApplied"), "False ManifestWorkApplyFailed");
}

}  // namespace
}  // namespace fleetadm::addon::deploy_test
