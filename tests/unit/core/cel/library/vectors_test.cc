// Every recorded answer of upstream's evaluator: zero differences.
#include "tests/support/vectors.h"

#include <gtest/gtest.h>

#include "core/cel/library/scenario.h"

namespace fleetadm::cel {
namespace {

TEST(CelVectors, EveryRecordedAnswerIsOurs) {
  const auto answerer = ScenarioAnswerer::make();
  ASSERT_TRUE(answerer.has_value()) << answerer.error().message;
  int lines = 0;
  int different = 0;
  const Status read = fleetadm::test::for_each_vector("cel.jsonl.gz", [&](const Json& line) {
    ++lines;
    const auto answer = answerer->answer(line);
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    const Json& expect = object_at(line, {"expect"});
    const bool same =
        str(*answer, {"value"}, "-") == str(expect, {"value"}, "-") && str(*answer, {"phase"}) == str(expect, {"phase"});
    if (same || ++different > 40) return;
    ADD_FAILURE() << str(line, {"id"}) << ": " << str(line, {"expression"}) << "\n  want " << dump_json(expect) << "\n  got  "
                  << dump_json(*answer);
  });
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_GE(lines, 2700);
  EXPECT_EQ(different, 0) << "of " << lines;
}

}  // namespace
}  // namespace fleetadm::cel
