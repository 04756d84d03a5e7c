// Every recorded answer of upstream's controllers of installation, configuration and progress, answered again.
#include <gtest/gtest.h>
#include <iostream>

#include "core/addon/rules/config_scenario.h"
#include "core/addon/rules/progressing_scenario.h"
#include "tests/support/vectors.h"

namespace fleetadm::addon {
namespace {

using Answer = Result<Json> (*)(const Json& scenario, rollout::Semantics conduct);

/// Empty: the answers agree. Of errors only that there are some is compared.
std::string config_difference(const Json& expect, const Json& got) {
  std::string out;
  for (const std::string_view member : {"changed", "deleted", "requeueAfter"}) {
    const Json* a = find(expect, {member});
    const Json* b = find(got, {member});
    const std::string left = a == nullptr ? "-" : dump_json(*a);
    const std::string right = b == nullptr ? "-" : dump_json(*b);
    if (left != right) out += std::string(member) + ":\n  expected " + left + "\n  got      " + right + "\n";
  }
  if ((find(expect, {"errors"}) == nullptr) != (find(got, {"errors"}) == nullptr)) {
    out += "errors: expected " + dump_json(list_at(expect, {"errors"})) + ", got " + dump_json(list_at(got, {"errors"})) + "\n";
  }
  return out;
}

void answer_every_line(const char* file, Answer answer, int lines) {
  int run = 0;
  std::map<std::string, int> different;
  const Status read = fleetadm::test::for_each_vector(file, [&](const Json& line) {
    ++run;
    const Result<Json> got = answer(line, rollout::Semantics::kUpstream);
    ASSERT_TRUE(got) << str(line, {"id"}) << ": " << got.error().message;
    Json expect = object_at(line, {"expect"});
    for (Json& object : expect["changed"]) object = comparable(object);
    if (const std::string text = config_difference(expect, *got); !text.empty()) {
      if (++different[str(line, {"controller"})] <= 3) {
        ADD_FAILURE() << str(line, {"id"}) << " " << str(line, {"controller"}) << ": " << text;
      }
    }
  });
  ASSERT_TRUE(read.has_value()) << read.error().message;
  std::cout << run << " recorded passes answered\n";
  for (const auto& [controller, count] : different) ADD_FAILURE() << controller << ": " << count << " different";
  EXPECT_EQ(run, lines);
}

TEST(AddonConfigVectors, UpstreamsConductAnswersEveryLineAlike) {
  answer_every_line("addon-config.jsonl.gz", answer_config_scenario, 937);
}

TEST(AddonConfigVectors, ProgressIsJudgedAlike) {
  answer_every_line("addon-progressing.jsonl.gz", answer_progressing_scenario, 340);
}

}  // namespace
}  // namespace fleetadm::addon
