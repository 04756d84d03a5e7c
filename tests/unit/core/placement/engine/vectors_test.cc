// Every recorded pass of upstream's scheduler, answered again: zero differences.
#include "tests/support/vectors.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <iostream>

#include "core/placement/engine/cel_evaluator.h"
#include "core/placement/engine/scenario.h"

namespace fleetadm::placement {
namespace {

/// The evaluator, and whether somebody asked it.
class AskedEvaluator final : public CelEvaluator {
 public:
  explicit AskedEvaluator(const CelEvaluator& evaluator) : evaluator_(evaluator) {}
  Result<std::shared_ptr<const CelProgram>> compile(const std::vector<std::string>& expressions) const override {
    asked = true;
    return evaluator_.compile(expressions);
  }
  mutable bool asked = false;

 private:
  const CelEvaluator& evaluator_;
};

// A compiler's words are its own: of a message that carries them, the fact is compared.
Json without_compiler_words(Json answer) {
  if (find(answer, {"status", "conditions"}) == nullptr) return answer;
  Json conditions = list_at(answer, {"status", "conditions"});
  for (Json& one : conditions) {
    if (str(one, {"message"}).starts_with("Predicate:compilation failed: ")) one["message"] = "Predicate:compilation failed";
  }
  answer["status"]["conditions"] = std::move(conditions);
  return answer;
}

std::vector<std::string> sorted_dumps(const Json& list) {
  std::vector<std::string> out;
  for (const Json& item : list) out.push_back(dump_json(item));
  std::sort(out.begin(), out.end());
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
  const auto cel_evaluator = make_cel_evaluator();
  ASSERT_TRUE(cel_evaluator) << cel_evaluator.error().message;
  int run = 0;
  int cel = 0;
  int different = 0;
  const Status read = fleetadm::test::for_each_vector("placement.jsonl.gz", [&](const Json& line) {
    const auto scenario = decode_scenario(line);
    ASSERT_TRUE(scenario.has_value()) << str(line, {"id"}) << ": " << scenario.error().message;
    const AskedEvaluator evaluator(**cel_evaluator);
    const Pass pass = schedule(scenario->world, scenario->placement, scenario->now, {.cel = &evaluator, .record = true});
    cel += evaluator.asked ? 1 : 0;
    ++run;
    const bool misconfigured = pass.verdict.code == Code::kMisconfigured;
    if (const std::string text = difference(without_compiler_words(object_at(line, {"expect"})),
                                            without_compiler_words(encode_pass(pass)), misconfigured);
        !text.empty()) {
      if (++different <= 10) ADD_FAILURE() << str(line, {"id"}) << ": " << text;
    }
  });
  ASSERT_TRUE(read.has_value()) << read.error().message;
  std::cout << run << " recorded passes answered, " << different << " different, " << cel << " ask CEL\n";
  EXPECT_EQ(different, 0);
  EXPECT_GT(run, 3000);
  EXPECT_GT(cel, 500);
}

}  // namespace
}  // namespace fleetadm::placement
