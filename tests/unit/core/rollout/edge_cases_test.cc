// Edge cases (docs/reference/rollout.md), one row a case, in a shorthand: groups "canary=c1 n=n1,n2" (indexes 0, 1, …; "n@2=…"
// gives one), what is known "n1 Failed 60" (seconds since the transition; "-": no time), and the step as
// "rollout n2+20 n4; timeout n1; removed gone; recheck 20; breach" (n2+20: to be looked at again in 20 s). `sound` is empty
// where our conduct answers as upstream's.
#include <algorithm>
#include <gtest/gtest.h>
#include <ostream>
#include <sstream>

#include "core/rollout/engine.h"
#include "core/rollout/strategy.h"

namespace fleetadm::rollout {
namespace {

struct EdgeCase {
  const char* id;
  const char* strategy;
  const char* groups;
  const char* existing;
  const char* upstream;
  const char* sound = "";
};
void PrintTo(const EdgeCase& row, std::ostream* out) { *out << row.id; }

constexpr const char* kSix = "n=n1,n2,n3,n4,n5,n6";
constexpr const char* kCanaryAndSix = "canary=c1 n=n1,n2,n3,n4,n5,n6";

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);) {
    const std::size_t from = part.find_first_not_of(' ');
    if (from != std::string::npos) parts.push_back(part.substr(from, part.find_last_not_of(' ') + 1 - from));
  }
  return parts;
}

Instant now() { return *parse_time("2026-11-20T12:00:00Z"); }

std::vector<Group> groups_of(const std::string& text) {
  std::vector<Group> groups;
  int index = 0;
  for (const std::string& entry : split(text, ' ')) {
    const std::size_t equals = entry.find('=');
    std::string name = entry.substr(0, equals);
    if (const std::size_t at = name.find('@'); at != std::string::npos) {
      index = std::stoi(name.substr(at + 1));
      name.erase(at);
    }
    groups.push_back({{name, index++}, split(entry.substr(equals + 1), ',')});
  }
  return groups;
}

std::vector<ClusterState> states_of(const std::string& text) {
  std::vector<ClusterState> states;
  for (const std::string& entry : split(text, ',')) {
    const std::vector<std::string> words = split(entry, ' ');
    ClusterState one;
    one.cluster = words.at(0);
    one.state = parse_state(words.at(1));
    const std::string age = words.size() > 2 ? words[2] : "1000";
    if (age != "-") one.since = now() - std::chrono::seconds(std::stoi(age));
    states.push_back(std::move(one));
  }
  return states;
}

std::string seconds_of(Duration value) { return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(value).count()); }

std::string described(const Result<Step>& step) {
  if (!step) return "error: " + step.error().message;
  std::vector<std::string> parts;
  const auto list = [&](const char* title, const std::vector<ClusterState>& states) {
    if (states.empty()) return;
    std::string part = title;
    for (const ClusterState& one : states) {
      part += " " + one.cluster;
      if (one.recheck && *one.recheck > now()) part += "+" + seconds_of(*one.recheck - now());
    }
    parts.push_back(part);
  };
  list("rollout", step->rollout);
  list("timeout", step->timed_out);
  if (!step->removed.empty()) {
    std::string part = "removed";
    for (const std::string& name : step->removed) part += " " + name;
    parts.push_back(part);
  }
  if (step->recheck_after) parts.push_back("recheck " + seconds_of(*step->recheck_after));
  if (step->breach) parts.emplace_back("breach");
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text.empty() ? "nothing" : text;
}

/// {type, body} in shorthand: "Progressive {…}".
Result<Step> run(const EdgeCase& row, Semantics conduct) {
  const std::string text = row.strategy;
  const std::size_t space = std::min(text.find(' '), text.size());
  const std::string type = text.substr(0, space);
  const std::string member = type == "All" ? "all" : type == "Progressive" ? "progressive" : "progressivePerGroup";
  Json strategy{{"type", type}};
  if (space < text.size()) {
    FLEETADM_TRY(const Json body, parse_json(text.substr(space)));
    strategy[member] = body;
  }
  FLEETADM_TRY(const Strategy parsed, parse_strategy(strategy));
  return next_step(parsed, groups_of(row.groups), states_of(row.existing), now(), conduct);
}

const EdgeCase kCases[] = {
    {"R1", R"(All {"progressDeadline":"30s"})", kSix,
     "n1 Failed 60, n2 Progressing 10, n3 Succeeded, n4 ToApply, n5 Skip, gone Succeeded",
     "rollout n2+20 n4 n6; timeout n1; removed gone; recheck 20"},
    {"R2", R"(Progressive {"maxConcurrency":"25%"})", kSix, "", "rollout n1 n2"},
    {"R3_zero", R"(Progressive {"maxConcurrency":0})", kSix, "", "rollout n1 n2 n3 n4 n5 n6"},
    {"R3_zero_percent", R"(Progressive {"maxConcurrency":"0%"})", kSix, "", "rollout n1 n2 n3 n4 n5 n6"},
    {"R3_above", R"(Progressive {"maxConcurrency":7})", kSix, "", "rollout n1 n2 n3 n4 n5 n6"},
    {"R3_unset", "Progressive {}", kSix, "", "rollout n1 n2 n3 n4 n5 n6"},
    {"R4", R"(Progressive {"maxConcurrency":"2"})", kSix, "",
     "error: failed to parse the provided maxConcurrency: '2' is an invalid maximum threshold value: string is not a percentage"},
    {"R5", R"(Progressive {"maxConcurrency":2})", kSix, "n1 Skip, n2 Skip", "rollout n3 n4"},
    {"R6", R"(Progressive {"maxConcurrency":2})", kSix, "n5 ToApply", "rollout n5 n1"},
    {"R7", R"(Progressive {"maxConcurrency":1,"maxFailures":3})", kSix, "n1 Failed", "rollout n1"},
    // Ours reports every time-out at once; more is not started either way.
    {"R8", R"(Progressive {"maxConcurrency":1,"progressDeadline":"30s"})", kSix, "n1 Progressing 10, n2 Progressing 100",
     "rollout n1+20; recheck 20", "rollout n1+20; timeout n2; recheck 20; breach"},
    {"R9", R"(Progressive {"maxConcurrency":1,"progressDeadline":"30s","maxFailures":3})", kSix,
     "n1 Progressing 100, n2 Progressing 10", "rollout n2+20; timeout n1; recheck 20"},
    {"R10", R"(Progressive {"maxConcurrency":1,"progressDeadline":"30s"})", kSix,
     "n1 Progressing 100, n2 ToApply, n3 Progressing 10", "rollout n3+20; timeout n1; recheck 20; breach"},
    {"R11", R"(Progressive {"maxConcurrency":3,"progressDeadline":"30s"})", kSix, "n1 ToApply, n2 ToApply, n3 Progressing 100",
     "rollout n1 n2; timeout n3; breach", "timeout n3; breach"},
    {"R12_two", R"(Progressive {"maxFailures":"20%"})", kSix, "n1 Failed, n2 Failed", "rollout n1 n2 n3 n4 n5 n6"},
    {"R12_three", R"(Progressive {"maxFailures":"20%"})", kSix, "n1 Failed, n2 Failed, n3 Failed", "rollout n1 n2 n3; breach"},
    {"R13_count", R"(Progressive {"maxFailures":10})", kSix, "n1 Failed", "rollout n1; breach"},
    {"R13_percent", R"(Progressive {"maxFailures":"150%"})", kSix, "n1 Failed", "rollout n1; breach"},
    {"R14", R"(Progressive {"maxFailures":6})", kSix, "n1 Failed", "rollout n1 n2 n3 n4 n5 n6"},
    {"R15", R"(Progressive {"maxConcurrency":1})", kSix, "gone Failed", "rollout n1; removed gone"},
    {"R16_soaking", R"(Progressive {"minSuccessTime":"60s"})", "n=n1", "n1 Succeeded 59", "rollout n1+1; recheck 1"},
    {"R16_done", R"(Progressive {"minSuccessTime":"60s"})", "n=n1", "n1 Succeeded 60", "nothing"},
    {"R16_no_time", R"(Progressive {"minSuccessTime":"60s"})", "n=n1", "n1 Succeeded -", "rollout n1+60; recheck 60"},
    {"R17", R"(Progressive {"minSuccessTime":"60s","maxConcurrency":1})", kSix, "n1 Succeeded 10", "rollout n1+50; recheck 50"},
    {"R18", R"(Progressive {"progressDeadline":"30s"})", "n=n1", "n1 Progressing 30", "timeout n1; breach"},
    {"R19_never", R"(Progressive {"progressDeadline":"30s"})", "n=n1", "n1 Progressing -", "rollout n1+30; recheck 30"},
    {"R19_at_once", R"(Progressive {"progressDeadline":"0s"})", "n=n1", "n1 Progressing -", "timeout n1; breach"},
    {"R20", R"(Progressive {"maxConcurrency":3,"mandatoryDecisionGroups":[{"groupName":"canary"}]})", kCanaryAndSix,
     "c1 Succeeded, n1 Succeeded, n2 Progressing, n3 Succeeded", "rollout n2", "rollout n2 n4 n5"},
    {"R21",
     R"(Progressive {"maxConcurrency":3,"progressDeadline":"30s","maxFailures":2,"mandatoryDecisionGroups":[{"groupName":"canary"}]})",
     kCanaryAndSix, "c1 Succeeded, n1 Succeeded, n2 Progressing 100, n3 Succeeded", "timeout n2", "rollout n4 n5 n6; timeout n2"},
    {"R22", R"(Progressive {"mandatoryDecisionGroups":[{"groupName":"canary"}]})", kCanaryAndSix, "c1 Failed",
     "rollout c1; breach"},
    {"R23", R"(Progressive {"progressDeadline":"30s","mandatoryDecisionGroups":[{"groupName":"canary"}]})", kCanaryAndSix,
     "c1 Progressing 100", "timeout c1; breach"},
    {"R24_proceeds", R"(Progressive {"maxConcurrency":2,"maxFailures":1,"mandatoryDecisionGroups":[{"groupName":"canary"}]})",
     kCanaryAndSix, "c1 TimeOut", "rollout n1 n2", "breach"},
    {"R24_breach", R"(Progressive {"maxConcurrency":2,"mandatoryDecisionGroups":[{"groupName":"canary"}]})", kCanaryAndSix,
     "c1 TimeOut", "breach"},
    {"R25", R"(Progressive {"maxConcurrency":2,"mandatoryDecisionGroups":[{"groupName":"nosuch"}]})", kCanaryAndSix, "",
     "rollout c1 n1"},
    {"R26", R"(Progressive {"mandatoryDecisionGroups":[{}]})", kCanaryAndSix, "", "rollout c1"},
    {"R27", R"(Progressive {"mandatoryDecisionGroups":[{"groupIndex":1},{"groupName":"canary"}]})", "canary=c1 n=n1 m=m1", "",
     "rollout c1"},
    {"R28", R"(Progressive {"mandatoryDecisionGroups":[{"groupIndex":0},{"groupIndex":1}]})", "canary=c1 n=n1",
     "c1 Succeeded, n1 Succeeded", "nothing"},
    {"R29", "ProgressivePerGroup", "a=a1,a2 b=b1", "", "rollout a1 a2"},
    {"R30", "ProgressivePerGroup", "a=a1,a2 b=b1", "a1 Succeeded, a2 Progressing", "rollout a2"},
    // Each timed-out cluster hides one that has work left: upstream unlocks the next group.
    {"R31_1", R"(ProgressivePerGroup {"maxFailures":1,"progressDeadline":"30s"})", "a=a1,a2 b=b1,b2", "a1 Progressing 60",
     "rollout a2 b1 b2; timeout a1", "rollout a2; timeout a1"},
    {"R31_2", R"(ProgressivePerGroup {"maxFailures":2,"progressDeadline":"30s"})", "a=a1,a2,a3 b=b1,b2 z=z1,z2,z3",
     "a1 Progressing 60, a2 Progressing 60, a3 Succeeded", "rollout b1 b2 z1 z2 z3; timeout a1 a2",
     "rollout b1 b2; timeout a1 a2"},
    {"R31_3", R"(ProgressivePerGroup {"maxFailures":1})", "a=a1,a2 b=b1,b2", "a1 Failed", "rollout a1 a2"},
    {"R31_4", R"(ProgressivePerGroup {"maxFailures":"50%"})", "a=a1,a2,a3 b=b1", "a1 Failed, a2 Failed, a3 Succeeded",
     "rollout a1 a2 b1"},
    {"R31_5", R"(ProgressivePerGroup {"maxFailures":1})", "a=a1,a2 b=b1,b2 z=z1",
     "a1 Succeeded, a2 Succeeded, b2 Succeeded, b1 Failed", "rollout b1", "rollout b1 z1"},
    {"R31_6", "ProgressivePerGroup", "a=a1,a2 b=b1", "a1 Succeeded, b1 Progressing", "rollout b1 a2"},
    {"R32", R"(ProgressivePerGroup {"maxFailures":5})", "a=a1,a2,a3", "a1 Failed", "rollout a1 a2 a3; breach",
     "rollout a1; breach"},
    {"R33", R"(ProgressivePerGroup {"minSuccessTime":"60s"})", "a=a1,a2 b=b1", "a1 Succeeded 90, a2 Succeeded 20",
     "rollout a2+40; recheck 40"},
    {"R34", R"(Progressive {"maxConcurrency":9})", "a@0=a1 b@2=b1", "b1 Succeeded", "rollout a1; removed b1", "rollout a1"},
    {"R35", "Progressive", "", "n1 Succeeded, n2 Progressing", "removed n1 n2"},
    {"R37_units", R"(All {"progressDeadline":"2d"})", kSix, "", "error: invalid timeout format"},
    {"R37_fraction", R"(All {"progressDeadline":"1.5h"})", kSix, "", "error: invalid timeout format"},
    {"R37_negative", R"(All {"progressDeadline":"-5m"})", kSix, "", "error: invalid timeout format"},
    {"R37_bare", R"(All {"progressDeadline":"90"})", kSix, "", "error: invalid timeout format"},
    {"R37_zero_bare", R"(All {"progressDeadline":"0"})", kSix, "", "error: invalid timeout format"},
    {"R37_none_space", R"(All {"progressDeadline":"None "})", kSix, "", "error: invalid timeout format"},
    {"R37_seconds", R"(All {"progressDeadline":"90s"})", "n=n1", "n1 Progressing 30", "rollout n1+60; recheck 60"},
    {"R37_hours", R"(All {"progressDeadline":"1h30m"})", "n=n1", "n1 Progressing 30", "rollout n1+5370; recheck 5370"},
    {"R38_empty", "", kSix, "", "error: incorrect rollout strategy type "},
    {"R38_unknown", "Sideways", kSix, "", "error: incorrect rollout strategy type Sideways"},
    {"R39", "Progressive", kSix, "n1 Progressing 100000", "rollout n1 n2 n3 n4 n5 n6"},
    {"R41", R"(Progressive {"maxConcurrency":1})", kSix, "n1 Bewildered", "rollout n1"},
    {"R42", "ProgressivePerGroup", "a=a1,a2,late b=b1 z=z1", "a1 Succeeded, a2 Succeeded, b1 Succeeded", "rollout late"},
};

class RolloutEdgeCases : public ::testing::TestWithParam<EdgeCase> {};

TEST_P(RolloutEdgeCases, UpstreamsConduct) { EXPECT_EQ(described(run(GetParam(), Semantics::kUpstream)), GetParam().upstream); }
TEST_P(RolloutEdgeCases, SoundConduct) {
  const std::string expected = *GetParam().sound == '\0' ? GetParam().upstream : GetParam().sound;
  EXPECT_EQ(described(run(GetParam(), Semantics::kStrict)), expected);
}
INSTANTIATE_TEST_SUITE_P(Reference, RolloutEdgeCases, ::testing::ValuesIn(kCases),
                         [](const auto& row) { return std::string(row.param.id); });

TEST(RolloutThresholds, PercentagesRoundAsDoublesDo) {
  EXPECT_EQ(resolve({0, "7%"}, 100, 0).value(), 8);
  EXPECT_EQ(resolve({0, "28%"}, 25, 0).value(), 8);
  EXPECT_EQ(resolve({0, "33.3%"}, 3, 0).value(), 1);
  EXPECT_EQ(resolve({0, "100%"}, 7, 0).value(), 7);
  EXPECT_EQ(resolve({0, "150%"}, 7, 3).value(), 3);
  EXPECT_EQ(resolve({-1, std::nullopt}, 7, 7).value(), 7);
  EXPECT_FALSE(resolve({0, "x%"}, 7, 7));
  EXPECT_FALSE(resolve({0, "3"}, 7, 7));
}

TEST(RolloutDeadlines, AreReadAsUpstreamReadsThem) {
  EXPECT_EQ(parse_deadline("None").value(), std::nullopt);
  EXPECT_EQ(parse_deadline("").value(), std::nullopt);
  EXPECT_EQ(parse_deadline("0s").value(), Duration::zero());
  EXPECT_EQ(parse_deadline("500ms").value(), std::chrono::milliseconds(500));
  EXPECT_EQ(parse_deadline("10mfoo").error().message, "time: unknown unit \"mfoo\" in duration \"10mfoo\"");
  EXPECT_EQ(parse_deadline("xNone").error().message, "time: invalid duration \"xNone\"");
}

// The wait until a deadline need not fit a duration where the clock is ages away.
TEST(RolloutDeadlines, AreReachableFromAnyNow) {
  const Result<Strategy> strategy = parse_strategy(
      *parse_json(R"({"type":"ProgressivePerGroup","progressivePerGroup":{"minSuccessTime":"1m","progressDeadline":"1s"}})"));
  ASSERT_TRUE(strategy);
  const ClusterState soaking{"c1", {"", 0}, State::kSucceeded, now(), std::nullopt};
  const auto wait_at = [&](const char* at) {
    const Result<Step> step = next_step(*strategy, {{{"", 0}, {"c1"}}}, {soaking}, *parse_time(at), Semantics::kStrict);
    return step ? step->recheck_after : Duration(-1);
  };
  EXPECT_EQ(wait_at("0001-01-01T00:00:00Z"), Duration::max());
  EXPECT_EQ(wait_at("2026-11-20T12:00:00Z"), std::chrono::minutes(1));
  EXPECT_EQ(wait_at("9999-01-01T00:00:00Z"), std::nullopt);
}

// A limit never lets a failing rollout begin another cluster, whatever the order of what is known.
TEST(RolloutSound, ABreachStartsNothingWhereverTheFailureIs) {
  for (const char* failing : {"n1", "n3", "n6"}) {
    for (const char* strategy : {R"(Progressive {"maxConcurrency":2})", "ProgressivePerGroup",
                                 R"(Progressive {"maxConcurrency":2,"mandatoryDecisionGroups":[{"groupName":"n"}]})"}) {
      const std::string known = std::string(failing) + " Failed, n2 ToApply";
      const EdgeCase row{"", strategy, kSix, known.c_str(), ""};
      EXPECT_EQ(described(run(row, Semantics::kStrict)), std::string("rollout ") + failing + "; breach");
    }
  }
}

}  // namespace
}  // namespace fleetadm::rollout
