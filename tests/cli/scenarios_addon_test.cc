// Every recorded case of add-ons through the built binary: which rules a line asks, and the form of the answers. What the answers
// say is compared in tests/unit/core/addon.
#include <cstdlib>
#include <gtest/gtest.h>

#include "tests/cli/run_binary.h"
#include "tests/support/vectors.h"

namespace fleetadm::cli_cases {
namespace {

/// The objects that an answer says differ: "Kind namespace/name".
std::vector<std::string> changed_in(const Json& answer) {
  std::vector<std::string> names;
  for (const Json& object : list_at(answer, {"changed"})) {
    names.push_back(str(object, {"kind"}) + " " + namespace_of(object) + "/" + name_of(object));
  }
  return names;
}

class AddonScenarios : public testing::TestWithParam<const char*> {};

TEST_P(AddonScenarios, EveryLineIsAnswered) {
  if (std::getenv("FLEETADM_BINARY") == nullptr) GTEST_FAIL() << "FLEETADM_BINARY must name the built fleetadm";
  std::string input;
  std::vector<Json> expected;
  const Status read = test::for_each_vector(GetParam(), [&](const Json& line, const std::string& text) {
    input += text + "\n";
    expected.push_back(Json{{"id", str(line, {"id"})}, {"expect", object_at(line, {"expect"})}});
  });
  ASSERT_TRUE(read.has_value()) << read.error().message;
  const BinaryOutcome outcome = run_binary({"addon", "simulate", "--scenarios", "-"}, input);
  const std::vector<Json> answers = lines_of(outcome.out);
  ASSERT_EQ(answers.size(), expected.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_EQ(str(answers[i], {"id"}), str(expected[i], {"id"})) << "answers are in the order of the cases";
    if (find(answers[i], {"refusedBy"}) != nullptr) continue;
    const Json& expect = object_at(expected[i], {"expect"});
    if (find(expect, {"panic"}) == nullptr) {
      EXPECT_EQ(changed_in(answers[i]), changed_in(expect)) << answers[i].dump();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, AddonScenarios,
                         testing::Values("addon-config.jsonl.gz", "addon-progressing.jsonl.gz", "addon-render.jsonl.gz",
                                         "addon-deploy.jsonl.gz", "addon-registration.jsonl.gz"));

}  // namespace
}  // namespace fleetadm::cli_cases
