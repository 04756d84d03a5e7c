// The revisions of an add-on's configurations, as the hub's passes and the command line note them.
#include "core/addon/rules/rollout_revisions.h"

#include <gtest/gtest.h>

#include "core/work/rules/replica_set_revisions.h"
#include "tests/unit/core/addon/rules/rollout_world.h"

namespace fleetadm::addon {
namespace {

struct RevisionRules : RolloutRules {
  std::vector<AddonRevision> revisions() const { return addon_revisions(declaration()); }
  void put_two() {
    put_config("base", "one");
    put_declaration(progressive(1));
    put_placement({{"c1", "c2"}});
    for (const char* cluster : {"c1", "c2"}) put_addon(cluster);
  }
  void finish_all() {
    for (const char* cluster : {"c1", "c2"}) {
      roll();
      complete(cluster);
    }
    roll();
  }
};

TEST_F(RevisionRules, TheFirstPassNotesTheFirstAndTheLastOneThatItIsComplete) {
  put_two();
  roll();
  ASSERT_EQ(revisions().size(), 1U);
  EXPECT_EQ(revisions()[0].number, 1);
  EXPECT_EQ(revisions()[0].configs.defaults.at(0).hash, live("base"));
  EXPECT_FALSE(revisions()[0].finished);
  now += std::chrono::minutes(1);
  finish_all();
  ASSERT_EQ(revisions().size(), 1U) << "nothing else was asked for";
  ASSERT_TRUE(revisions()[0].finished);
  EXPECT_EQ(*revisions()[0].finished, now);
}

TEST_F(RevisionRules, NothingIsNotedWhileAConfigurationDoesNotExist) {
  put_two();
  objects.remove(addon_deployment_configs(), "ns", "base");
  roll();
  EXPECT_TRUE(revisions().empty());
  put_config("base", "one");
  roll();
  EXPECT_EQ(revisions().size(), 1U);
}

TEST_F(RevisionRules, OtherContentsAndOtherNamesAreNewRevisions) {
  put_two();
  finish_all();
  put_config("base", "two");
  roll();
  ASSERT_EQ(revisions().size(), 2U);
  EXPECT_EQ(revisions()[1].configs.defaults[0].hash, live("base"));
  EXPECT_FALSE(revisions()[1].finished);
  put_config("next", "three");
  Json changed = declaration();
  changed["spec"]["defaultConfigs"] = Json::array({config("next")});
  objects.put(changed);
  roll();
  ASSERT_EQ(revisions().size(), 3U);
  EXPECT_EQ(config_changes(revisions()[0].configs, revisions()[1].configs).at(0).text(),
            "default addondeploymentconfigs ns/base: contents");
  EXPECT_EQ(config_changes(revisions()[1].configs, revisions()[2].configs).at(0).text(),
            "default addondeploymentconfigs ns/base -> ns/next");
}

TEST_F(RevisionRules, WhatIsNotKnownIsCompletedAndNoNewRevision) {
  put_two();
  Json declared = declaration();
  RevisionConfigs configs = configs_now(declared);
  ASSERT_EQ(configs.defaults.size(), 1U);
  EXPECT_EQ(configs.defaults[0].hash, "");
  note_revision(declared, configs, {}, now);
  configs.defaults[0].hash = "abc";
  note_revision(declared, configs, {"ann", 0, false}, now);
  ASSERT_EQ(addon_revisions(declared).size(), 1U);
  EXPECT_EQ(addon_revisions(declared)[0].configs.defaults[0].hash, "abc");
  EXPECT_EQ(addon_revisions(declared)[0].by, "ann");
  configs.defaults[0].hash.clear();
  note_revision(declared, configs, {}, now);
  EXPECT_EQ(addon_revisions(declared)[0].configs.defaults[0].hash, "abc") << "an object that is gone says nothing";
}

TEST_F(RevisionRules, ThePlacementsConfigurationsCount) {
  put_two();
  roll();
  put_config("own", "x");
  Json changed = declaration();
  changed["spec"]["installStrategy"]["placements"][0]["configs"] = Json::array({config("own")});
  objects.put(changed);
  roll();
  ASSERT_EQ(revisions().size(), 2U);
  EXPECT_EQ(revisions()[1].configs.placements.at("ns/p").at(0).hash, live("own"));
  EXPECT_EQ(config_changes(revisions()[0].configs, revisions()[1].configs).at(0).text(),
            "placement ns/p: addondeploymentconfigs none -> ns/own");
  Json back = declaration();
  set_configs(back, revisions()[0].configs);
  EXPECT_EQ(find(back, {"spec", "installStrategy", "placements"})->at(0).count("configs"), 0U);
}

TEST_F(RevisionRules, NumberAndSizeAreBounded) {
  put_two();
  Json declared = declaration();
  RevisionConfigs configs = configs_now(declared);
  for (int i = 0; i < 40; ++i) {
    configs.defaults[0].hash = std::string(64, 'a') + std::to_string(i);
    note_revision(declared, configs, {}, now);
  }
  ASSERT_EQ(addon_revisions(declared).size(), kAddonRevisionLimit);
  EXPECT_EQ(addon_revisions(declared).back().number, 40);
  for (int i = 0; i < 300; ++i) {
    DesiredConfig one = configs.defaults[0];
    one.key.name = "c" + std::to_string(i);
    configs.placements["ns/q" + std::to_string(i)].push_back(one);
  }
  note_revision(declared, configs, {}, now);
  configs.defaults[0].hash = "other";
  note_revision(declared, configs, {}, now);
  EXPECT_LE(annotation_of(declared, kRevisionsAnnotation).size(), kRevisionBytes);
  EXPECT_EQ(addon_revisions(declared).back().number, 42);
}

TEST_F(RevisionRules, WhatIsNoListOfRevisionsCountsAsNone) {
  put_two();
  Json declared = declaration();
  for (const char* text : {"", "{", "{}", "[1]", R"([{"revision":"x"}])", R"([{"revision":-1}])"}) {
    at_or_make(declared, {"metadata", "annotations", kRevisionsAnnotation}) = text;
    EXPECT_TRUE(addon_revisions(declared).empty()) << text;
  }
}

TEST_F(RevisionRules, ATypeWithoutADefaultStaysSupported) {
  put_two();
  Json declared = declaration();
  RevisionConfigs target;
  set_configs(declared, target);
  ASSERT_EQ(list_at(declared, {"spec", "defaultConfigs"}).size(), 1U);
  EXPECT_EQ(str(list_at(declared, {"spec", "defaultConfigs"})[0], {"name"}), kNoDefaultName);
}

TEST_F(RevisionRules, WhatIsGivenUpCountsAsAborted) {
  put_two();
  Json declared = declaration();
  RevisionConfigs configs = configs_now(declared);
  for (const char* hash : {"a", "b", "a"}) {
    configs.defaults[0].hash = hash;
    note_revision(declared, configs, {"", 0, addon_revisions(declared).size() == 2}, now);
  }
  const auto all = addon_revisions(declared);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_FALSE(all[0].aborted);
  EXPECT_TRUE(all[1].aborted);
  EXPECT_FALSE(all[2].aborted);
}

// --- pause and retry ---

TEST_F(RevisionRules, PausedNobodyBeginsAndWhoHasBegunGoesOn) {
  put_two();
  finish_all();
  put_config("base", "two");
  roll();
  const std::string before = hash_in("c2");
  ASSERT_EQ(hash_in("c1"), live("base"));
  Json paused = declaration();
  at_or_make(paused, {"metadata", "annotations", work::kPausedAnnotation}) = "true";
  objects.put(paused);
  complete("c1");
  roll();
  EXPECT_EQ(hash_in("c2"), before);
  EXPECT_EQ(progress(), "selected clusters 2. configured addons 1/2 progressing..., 0 failed 0 timeout. Paused.");
  const Json told = declaration();
  EXPECT_EQ(str(list_at(told, {"status", "installProgressions"})[0]["conditions"][0], {"reason"}), "Paused");
  erase_at(paused = declaration(), {"metadata", "annotations", work::kPausedAnnotation});
  objects.put(paused);
  roll();
  EXPECT_EQ(hash_in("c2"), live("base"));
}

TEST_F(RevisionRules, PausedAnAddonWithoutAPlacementKeepsWhatItHas) {
  put_config("base", "one");
  put_declaration(progressive(1));
  Json manual = declaration();
  manual["spec"]["installStrategy"] = {{"type", "Manual"}};
  at_or_make(manual, {"metadata", "annotations", work::kPausedAnnotation}) = "true";
  objects.put(manual);
  put_addon("c1");
  roll();
  EXPECT_EQ(hash_in("c1"), "");
  manual = declaration();
  erase_at(manual, {"metadata", "annotations", work::kPausedAnnotation});
  objects.put(manual);
  roll();
  EXPECT_EQ(hash_in("c1"), live("base"));
}

TEST_F(RevisionRules, ARetryStartsTheDeadlineAgain) {
  put_two();
  roll();
  now += std::chrono::minutes(6);
  roll();
  EXPECT_NE(progress().find("1 timeout"), std::string::npos) << progress();
  Json retried = declaration();
  at_or_make(retried, {"metadata", "annotations", work::kRetryAnnotation}) = format_micro_time(now);
  objects.put(retried);
  roll();
  EXPECT_NE(progress().find("0 timeout"), std::string::npos) << progress();
  now += std::chrono::minutes(6);
  roll();
  EXPECT_NE(progress().find("1 timeout"), std::string::npos) << progress();
}

}  // namespace
}  // namespace fleetadm::addon
