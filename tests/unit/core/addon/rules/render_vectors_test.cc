// Every recorded rendering of a template, rendered again.
#include <gtest/gtest.h>
#include <iostream>
#include <map>

#include "core/addon/rules/config_hash.h"
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

/// The line with references to its objects as they are: what was decided is what there is.
Json decided_as_it_is(const Json& line) {
  Json decided = line;
  std::map<std::pair<std::string, std::string>, std::string> hashes;
  for (const Json& object : list_at(line, {"objects"}))
    hashes[{type_of(object).resource, name_of(object)}] = config_spec_hash(object);
  for (Json& object : decided["objects"]) {
    if (type_of(object) != managed_cluster_addons()) continue;
    for (Json& reference : at_or_make(object, {"status", "configReferences"})) {
      Json& hash = at_or_make(reference, {"desiredConfig", "specHash"});
      const auto known = hashes.find({str(reference, {"resource"}), str(reference, {"desiredConfig", "name"})});
      if (hash != "" && known != hashes.end()) hash = known->second;
    }
  }
  return decided;
}

TEST(AddonRenderVectors, TheHubRendersTheSameWhereItDoesNotRefuse) {
  int same = 0;
  std::map<std::string, int> refused;
  const Status read = fleetadm::test::for_each_vector("addon-render.jsonl.gz", [&](const Json& line) {
    const Result<Json> theirs = answer_render_scenario(line, rollout::Semantics::kUpstream);
    const Result<Json> ours = answer_render_scenario(decided_as_it_is(line), rollout::Semantics::kStrict);
    ASSERT_TRUE(theirs && ours) << str(line, {"id"});
    if (theirs->contains("error")) {
      EXPECT_TRUE(ours->contains("error")) << str(line, {"id"});
    } else if (ours->contains("error")) {
      const std::string why = str(*ours, {"error"});
      const bool value = why.ends_with(" is not a piece of a JSON string");
      ++refused[value ? "value" : why.ends_with(" of a manifest is not a name") ? "name" : why];
    } else {
      EXPECT_EQ(*ours, *theirs) << str(line, {"id"});
      ++same;
    }
  });
  ASSERT_TRUE(read.has_value()) << read.error().message;
  std::cout << same << " rendered alike; refused by:";
  for (const auto& [rule, count] : refused) std::cout << " " << rule << " " << count;
  std::cout << "\n";
  EXPECT_GT(same, 400);
  for (const auto& [rule, count] : refused) {
    EXPECT_TRUE(rule == "value" || rule == "name" || rule == "{{ without }} in a text of a manifest") << rule << " " << count;
  }
}

}  // namespace
}  // namespace fleetadm::addon
