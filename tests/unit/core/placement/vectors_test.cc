// Every recorded pass of upstream's scheduler, answered again: zero differences. Cases that ask a CEL selector belong to the
// evaluator's suite; those that carry one which is never asked are run here too.
#include "tests/support/vectors.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <iostream>

#include "core/placement/schedule.h"
#include "tests/unit/core/placement/fixtures.h"

namespace fleetadm::placement {
namespace {

/// Notes that somebody asked.
class AskedEvaluator final : public CelEvaluator {
 public:
  Result<std::shared_ptr<const CelProgram>> compile(const std::vector<std::string>&) const override {
    asked = true;
    return fail(Category::kUnsupported, "not evaluated");
  }
  mutable bool asked = false;
};

Json scores_json(const Scores& scores) {
  Json out = Json::object();
  for (const auto& [name, value] : scores) out[name] = value;
  return out;
}

std::vector<std::string> sorted_dumps(const Json& list) {
  std::vector<std::string> out;
  for (const Json& item : list) out.push_back(dump_json(item));
  std::sort(out.begin(), out.end());
  return out;
}

// The pass in the shape of `expect`.
Json answer(const Pass& pass) {
  Json out = Json::object();
  if (pass.skipped) return {{"skipped", true}};
  if (!pass.failure.empty()) return {{"failed", true}};
  for (const FilterRecord& filter : pass.filters)
    out["filters"].push_back({{"name", filter.name}, {"filteredClusters", filter.clusters}});
  for (const PrioritizerRecord& one : pass.prioritizers) {
    out["prioritizers"].push_back({{"name", one.name}, {"weight", one.weight}, {"scores", scores_json(one.scores)}});
  }
  if (!pass.sums.empty()) out["scores"] = scores_json(pass.sums);
  out["selected"] = pass.selected;
  if (pass.requeue_at) out["requeueAfter"] = format_time(*pass.requeue_at);
  for (const WantedDecision& one : pass.decisions) {
    out["placementDecisions"].push_back({{"name", one.name},
                                         {"groupName", one.group_name},
                                         {"groupIndex", std::to_string(one.group_index)},
                                         {"clusters", one.clusters}});
  }
  if (!pass.surplus.empty()) out["deletedDecisions"] = pass.surplus;
  Json status{
      {"numberOfSelectedClusters", pass.selected_count}, {"decisionGroups", Json::array()}, {"conditions", Json::array()}};
  for (const GroupStatus& group : pass.groups) {
    status["decisionGroups"].push_back({{"decisionGroupIndex", group.index},
                                        {"decisionGroupName", group.name},
                                        {"decisions", group.decisions},
                                        {"clusterCount", group.clusters}});
  }
  for (const ConditionValue& one : pass.conditions) {
    status["conditions"].push_back(
        {{"type", one.type}, {"status", one.status}, {"reason", one.reason}, {"message", one.message}});
  }
  out["status"] = std::move(status);
  return out;
}

// Empty text: the answers agree.
std::string difference(const Json& expect, const Json& got, bool misconfigured) {
  if (flag(expect, {"skipped"}) || flag(got, {"skipped"}))
    return flag(expect, {"skipped"}) == flag(got, {"skipped"}) ? "" : "skipped";
  if (flag(expect, {"failed"}) || flag(got, {"failed"})) return flag(expect, {"failed"}) == flag(got, {"failed"}) ? "" : "failed";
  const auto unequal = [&](std::string_view member) -> std::string {
    const Json* a = find(expect, {member});
    const Json* b = find(got, {member});
    const std::string left = a == nullptr ? "-" : dump_json(*a);
    const std::string right = b == nullptr ? "-" : dump_json(*b);
    return left == right ? "" : std::string(member) + ": expected " + left + ", got " + right + "\n";
  };
  std::string out;
  if (!misconfigured) {
    out += unequal("filters") + unequal("scores");
    if (sorted_dumps(list_at(expect, {"prioritizers"})) != sorted_dumps(list_at(got, {"prioritizers"})))
      out += unequal("prioritizers");
  }
  for (const auto member : {"selected", "requeueAfter", "placementDecisions", "deletedDecisions", "status"})
    out += unequal(member);
  return out;
}

TEST(PlacementVectors, EveryRecordedPassIsAnsweredAlike) {
  int run = 0;
  int cel = 0;
  int different = 0;
  const Status read = fleetadm::test::for_each_vector("placement.jsonl.gz", [&](const Json& line) {
    World world;
    std::optional<Placement> placement;
    for (const Json& object : list_at(line, {"objects"})) {
      fleetadm::test::put_object(world, object);
      if (str(object, {"kind"}) == "Placement" && namespace_of(object) + "/" + name_of(object) == str(line, {"placement"})) {
        placement = decode_placement(object);
      }
    }
    const auto now = parse_time(str(line, {"now"}));
    ASSERT_TRUE(now && placement) << str(line, {"id"});
    AskedEvaluator evaluator;
    const Pass pass = schedule(world, *placement, *now, {.cel = &evaluator, .record = true});
    if (evaluator.asked) {
      ++cel;
      return;
    }
    ++run;
    const bool misconfigured = pass.verdict.code == Code::kMisconfigured;
    if (const std::string text = difference(object_at(line, {"expect"}), answer(pass), misconfigured); !text.empty()) {
      if (++different <= 10) ADD_FAILURE() << str(line, {"id"}) << ": " << text;
    }
  });
  if (!read && !fleetadm::test::in_ci()) GTEST_SKIP() << read.error().message << " (" << read.error().hint << ")";
  ASSERT_TRUE(read.has_value()) << read.error().message;
  std::cout << run << " recorded passes answered, " << different << " different, " << cel << " ask CEL\n";
  EXPECT_EQ(different, 0);
  EXPECT_GT(run, 2000);
  EXPECT_LT(cel, run);
}

}  // namespace
}  // namespace fleetadm::placement
