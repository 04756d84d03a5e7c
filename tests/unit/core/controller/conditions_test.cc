#include <gtest/gtest.h>

#include "core/controller/controller.h"

namespace fleetadm::controller {
namespace {

Instant at(const char* text) { return *parse_time(text); }

TEST(SetCondition, AddsWithTheTimeOfTheChange) {
  Json conditions;
  EXPECT_TRUE(set_condition(conditions, "Ready", "True", "Fine", "all well", at("2026-01-01T00:00:00Z")));
  const Json wanted = Json::array({{{"type", "Ready"},
                                    {"status", "True"},
                                    {"reason", "Fine"},
                                    {"message", "all well"},
                                    {"lastTransitionTime", "2026-01-01T00:00:00Z"}}});
  EXPECT_EQ(conditions, wanted);
}

TEST(SetCondition, SameAgainChangesNothing) {
  Json conditions;
  set_condition(conditions, "Ready", "True", "Fine", "", at("2026-01-01T00:00:00Z"), 3);
  const Json before = conditions;
  EXPECT_FALSE(set_condition(conditions, "Ready", "True", "Fine", "", at("2026-02-01T00:00:00Z"), 3));
  EXPECT_EQ(conditions, before);
}

TEST(SetCondition, TransitionTimeFollowsTheStatusOnly) {
  Json conditions;
  set_condition(conditions, "Ready", "True", "Fine", "", at("2026-01-01T00:00:00Z"));
  EXPECT_TRUE(set_condition(conditions, "Ready", "True", "Other", "said", at("2026-02-01T00:00:00Z")));
  EXPECT_EQ(str(conditions.at(0), {"lastTransitionTime"}), "2026-01-01T00:00:00Z");
  EXPECT_TRUE(set_condition(conditions, "Ready", "False", "Other", "said", at("2026-03-01T00:00:00Z")));
  EXPECT_EQ(str(conditions.at(0), {"lastTransitionTime"}), "2026-03-01T00:00:00Z");
}

TEST(SetCondition, KeepsOtherConditionsAndUnknownMembers) {
  Json conditions =
      Json::array({{{"type", "Other"}, {"status", "Unknown"}}, {{"type", "Ready"}, {"status", "True"}, {"note", 1}}});
  EXPECT_TRUE(set_condition(conditions, "Ready", "True", "Fine", "", at("2026-01-01T00:00:00Z")));
  EXPECT_EQ(conditions.size(), 2u);
  EXPECT_EQ(num(conditions.at(1), {"note"}), 1);
  EXPECT_EQ(str(conditions.at(1), {"lastTransitionTime"}), "2026-01-01T00:00:00Z") << "the schema requires it";
}

TEST(SetCondition, ObservedGenerationIsWrittenOnRequestOnly) {
  Json conditions;
  set_condition(conditions, "Ready", "True", "Fine", "", at("2026-01-01T00:00:00Z"));
  EXPECT_EQ(find(conditions.at(0), {"observedGeneration"}), nullptr);
  EXPECT_TRUE(set_condition(conditions, "Ready", "True", "Fine", "", at("2026-01-01T00:00:00Z"), 2));
  EXPECT_EQ(num(conditions.at(0), {"observedGeneration"}), 2);
}

TEST(FindCondition, LivesWithMalformedObjects) {
  for (const char* text :
       {"{}", "[]", R"({"status":{"conditions":null}})", R"({"status":{"conditions":[1,"x",null]}})", R"({"status":7})"}) {
    const Json object = *parse_json(text);
    EXPECT_EQ(find_condition(object, "Ready"), nullptr) << text;
    EXPECT_FALSE(condition_is(object, "Ready", "True")) << text;
  }
}

}  // namespace
}  // namespace fleetadm::controller
