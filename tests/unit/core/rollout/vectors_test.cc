// Every recorded step of upstream's rollout engine, answered again.
#include "tests/support/vectors.h"

#include <gtest/gtest.h>
#include <iostream>
#include <map>
#include <set>

#include "core/rollout/engine.h"
#include "core/rollout/scenario.h"
#include "core/rollout/strategy.h"

namespace fleetadm::rollout {
namespace {

/// Empty: the answers agree.
std::string difference(const Json& expect, const Json& got) {
  std::string out;
  for (const std::string_view member : {"error", "toRollout", "timeOut", "removed", "maxFailureBreach", "recheckAfter"}) {
    const Json* a = find(expect, {member});
    const Json* b = find(got, {member});
    const std::string left = a == nullptr ? "-" : dump_json(*a);
    const std::string right = b == nullptr ? "-" : dump_json(*b);
    if (left != right) out += std::string(member) + ": expected " + left + ", got " + right + "\n";
  }
  return out;
}

TEST(RolloutVectors, UpstreamsConductAnswersEveryLineAlike) {
  int run = 0;
  int different = 0;
  const Status read = fleetadm::test::for_each_vector("rollout.jsonl.gz", [&](const Json& line) {
    ++run;
    const Result<Json> got = answer_scenario(line, Semantics::kUpstream);
    ASSERT_TRUE(got) << str(line, {"id"}) << ": " << got.error().message;
    if (const std::string text = difference(object_at(line, {"expect"}), *got); !text.empty()) {
      if (++different <= 10) ADD_FAILURE() << str(line, {"id"}) << ": " << text;
    }
  });
  ASSERT_TRUE(read.has_value()) << read.error().message;
  std::cout << run << " recorded steps answered, " << different << " different\n";
  EXPECT_EQ(different, 0);
  EXPECT_GE(run, 4000);
}

/// The inputs for which the sound conduct may answer otherwise, by the rule that differs.
class Rules {
 public:
  explicit Rules(const Json& line) {
    const Json& strategy = object_at(line, {"strategy"});
    const std::string type = str(strategy, {"type"});
    const bool by_group = type == "ProgressivePerGroup";
    const Json& body = object_at(strategy, {by_group ? "progressivePerGroup" : "progressive"});
    std::set<std::string> clusters;
    std::set<std::int64_t> indexes;
    for (const Json& group : list_at(line, {"groups"})) {
      indexes.insert(num(group, {"index"}));
      for (const std::string& cluster : string_list_at(group, {"clusters"})) clusters.insert(cluster);
    }
    // Groups behind a gap of indexes are seen.
    gap = !indexes.empty() && *indexes.rbegin() != static_cast<std::int64_t>(indexes.size()) - 1;
    for (const Json& known : list_at(line, {"existing"})) {
      if (!clusters.contains(str(known, {"clusterName"})) || str(known, {"status"}) == "ToApply") continue;
      // The mandatory phase looks at mandatory clusters only.
      mandatory = mandatory || (type != "All" && !list_at(body, {"mandatoryDecisionGroups"}).empty());
      // Failures hide no work, and work of later groups does not stand for that of earlier ones.
      in_turn = in_turn || by_group;
      // Failures and work are counted to the end, however many clusters are begun.
      counted = counted || type == "Progressive";
    }
  }
  bool any() const { return gap || mandatory || in_turn || counted; }

  bool gap = false;
  bool mandatory = false;
  bool in_turn = false;
  bool counted = false;
};

TEST(RolloutVectors, SoundConductDiffersOnlyWhereARuleSaysSo) {
  int alike = 0;
  int by_rule = 0;
  const Status read = fleetadm::test::for_each_vector("rollout.jsonl.gz", [&](const Json& line) {
    const Result<Json> got = answer_scenario(line, Semantics::kStrict);
    ASSERT_TRUE(got) << got.error().message;
    const std::string text = difference(object_at(line, {"expect"}), *got);
    alike += text.empty() ? 1 : 0;
    by_rule += text.empty() ? 0 : 1;
    if (!Rules(line).any()) {
      EXPECT_EQ(text, "") << str(line, {"id"});
    }
  });
  ASSERT_TRUE(read.has_value()) << read.error().message;
  std::cout << alike << " steps alike, " << by_rule << " different by a rule\n";
  EXPECT_GT(alike, 2500);
}

// Whatever is known: nothing is begun beyond a limit.
TEST(RolloutVectors, SoundConductKeepsTheLimitsOnEveryLine) {
  const Status read = fleetadm::test::for_each_vector("rollout.jsonl.gz", [&](const Json& line) {
    const Result<Json> got = answer_scenario(line, Semantics::kStrict);
    const Result<Strategy> strategy = parse_strategy(object_at(line, {"strategy"}));
    ASSERT_TRUE(got);
    if (!strategy || find(*got, {"error"}) != nullptr || strategy->kind == Kind::kAll) return;
    std::vector<Group> groups;
    for (const Json& group : list_at(line, {"groups"})) {
      groups.push_back({{str(group, {"name"}), static_cast<int>(num(group, {"index"}))}, string_list_at(group, {"clusters"})});
    }
    const Split parts = split_groups(visible_groups(groups, Semantics::kStrict), strategy->mandatory);
    const std::map<std::string, GroupKey> others = cluster_groups(parts.others);
    std::int64_t begun = 0;
    std::int64_t active = 0;
    std::set<std::int64_t> begun_groups;
    for (const Json& one : list_at(*got, {"toRollout"})) {
      const bool begins = str(one, {"status"}) == "ToApply";
      if (begins) begun_groups.insert(num(one, {"groupIndex"}));
      if (others.contains(str(one, {"clusterName"}))) ++(begins ? begun : active);
    }
    EXPECT_FALSE(flag(*got, {"maxFailureBreach"}) && !begun_groups.empty()) << str(line, {"id"});
    if (strategy->kind == Kind::kProgressive && begun > 0) {
      EXPECT_LE(begun + active, concurrency_of(*strategy, cluster_count(parts.others)).value()) << str(line, {"id"});
    }
    if (strategy->kind == Kind::kProgressivePerGroup) {
      EXPECT_LE(begun_groups.size(), 1U) << str(line, {"id"});
    }
  });
  ASSERT_TRUE(read.has_value()) << read.error().message;
}

}  // namespace
}  // namespace fleetadm::rollout
