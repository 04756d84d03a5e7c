// Every recorded step of upstream's rollout engine, answered again.
#include "tests/support/vectors.h"

#include <gtest/gtest.h>
#include <iostream>
#include <map>
#include <set>

#include "core/rollout/scenario.h"

namespace fleetadm::rollout {
namespace {

/// Empty: the answers agree. Of a refusal only the fact is compared.
std::string difference(const Json& expect, const Json& got) {
  const bool refused = find(expect, {"error"}) != nullptr;
  if (refused != (find(got, {"error"}) != nullptr)) return "refusal: got " + dump_json(got);
  if (refused) return {};
  std::string out;
  for (const std::string_view member : {"toRollout", "timeOut", "removed", "maxFailureBreach", "recheckAfter"}) {
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
    const Result<Json> got = answer_scenario(line, Conduct::kUpstream);
    ASSERT_TRUE(got) << str(line, {"id"}) << ": " << got.error().message;
    if (const std::string text = difference(object_at(line, {"expect"}), *got); !text.empty()) {
      if (++different <= 10) ADD_FAILURE() << str(line, {"id"}) << ": " << text;
    }
  });
  if (!read && !fleetadm::test::in_ci()) GTEST_SKIP() << read.error().message << " (" << read.error().hint << ")";
  ASSERT_TRUE(read.has_value()) << read.error().message;
  std::cout << run << " recorded steps answered, " << different << " different\n";
  EXPECT_EQ(different, 0);
  EXPECT_GE(run, 4000);
}

}  // namespace
}  // namespace fleetadm::rollout
