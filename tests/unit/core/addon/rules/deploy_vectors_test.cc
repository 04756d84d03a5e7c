// Every recorded pass of upstream's deploy controller, answered again.
#include <algorithm>
#include <gtest/gtest.h>
#include <iostream>

#include "core/addon/rules/deploy_scenario.h"
#include "tests/support/vectors.h"

namespace fleetadm::addon {
namespace {

/// The manifests of a work are a set.
Json with_sorted_manifests(Json object) {
  if (Json* manifests = const_cast<Json*>(find(object, {"spec", "workload", "manifests"})))
    std::sort(manifests->begin(), manifests->end());
  return comparable(object);
}

std::string differing_parts(const Json& expect, const Json& got) {
  std::string text;
  const auto compare = [&](std::string_view member, const Json& wanted, const Json& had) {
    if (wanted != had) text += std::string(member) + ": expected " + dump_json(wanted) + "\n  got " + dump_json(had) + "\n";
  };
  const auto changed_of = [](const Json& answer) {
    Json sorted = Json::array();
    for (const Json& object : list_at(answer, {"changed"})) sorted.push_back(with_sorted_manifests(object));
    return sorted;
  };
  compare("changed", changed_of(expect), changed_of(got));
  compare("deleted", list_at(expect, {"deleted"}), list_at(got, {"deleted"}));
  // Upstream's process ended: an error here.
  const bool failed = !list_at(expect, {"errors"}).empty() || flag(expect, {"panic"});
  compare("errors", failed, !list_at(got, {"errors"}).empty());
  return text;
}

TEST(AddonDeployVectors, UpstreamsConductAnswersEveryLineAlike) {
  int run = 0;
  int different = 0;
  const Status read = fleetadm::test::for_each_vector("addon-deploy.jsonl.gz", [&](const Json& line) {
    ++run;
    const Result<Json> got = answer_deploy_scenario(line, rollout::Semantics::kUpstream);
    ASSERT_TRUE(got) << str(line, {"id"}) << ": " << got.error().message;
    if (const std::string text = differing_parts(object_at(line, {"expect"}), *got); !text.empty()) {
      if (++different <= 5) ADD_FAILURE() << str(line, {"id"}) << ": " << text;
    }
  });
  ASSERT_TRUE(read.has_value()) << read.error().message;
  std::cout << run << " recorded passes answered, " << different << " different\n";
  EXPECT_EQ(different, 0);
  EXPECT_EQ(run, 427);
}

}  // namespace
}  // namespace fleetadm::addon
