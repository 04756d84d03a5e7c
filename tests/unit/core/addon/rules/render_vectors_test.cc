// Every recorded rendering of a template, rendered again.
#include <gtest/gtest.h>
#include <iostream>

#include "core/addon/rules/render_scenario.h"
#include "tests/support/vectors.h"

namespace fleetadm::addon {
namespace {

/// Upstream's process ends where an {{ has no }} after it; here that is an error.
bool is_error(const Json& expect) { return expect.contains("error") || flag(expect, {"panic"}); }

/// Upstream's reader cuts such a port to 32 bits. Here the workload does not fit its type: it goes to the cluster as it is, whose
/// server says what is wrong.
bool has_port_beyond_32_bits(const std::string& text) { return text.find("\"containerPort\":70000000000") != std::string::npos; }

TEST(AddonRenderVectors, UpstreamsConductAnswersEveryLineAlike) {
  int run = 0;
  int excepted = 0;
  int different = 0;
  const Status read = fleetadm::test::for_each_vector("addon-render.jsonl.gz", [&](const Json& line, const std::string& text) {
    ++run;
    const Json& expect = object_at(line, {"expect"});
    const Result<Json> got = answer_render_scenario(line, rollout::Semantics::kUpstream);
    ASSERT_TRUE(got) << str(line, {"id"}) << ": " << got.error().message;
    const bool alike = is_error(expect) == got->contains("error") &&
                       (is_error(expect) || list_at(expect, {"manifests"}) == list_at(*got, {"manifests"})) &&
                       str(expect, {"registrationNamespace"}) == str(*got, {"registrationNamespace"}) &&
                       expect.contains("registrationNamespaceError") == got->contains("registrationNamespaceError");
    if (alike) return;
    if (has_port_beyond_32_bits(text)) {
      ++excepted;
      return;
    }
    if (++different <= 5) {
      ADD_FAILURE() << str(line, {"id"}) << ": " << dump_json(Json::diff(expect, *got));
    }
  });
  ASSERT_TRUE(read.has_value()) << read.error().message;
  std::cout << run << " recorded renderings answered, " << different << " different, " << excepted << " excepted\n";
  EXPECT_EQ(different, 0);
  EXPECT_EQ(run, 610);
  EXPECT_EQ(excepted, 2);
}

}  // namespace
}  // namespace fleetadm::addon
