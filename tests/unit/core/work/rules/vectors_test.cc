// Recorded answers of upstream's engines: every line, no sampling.
#include "tests/support/vectors.h"

#include <gtest/gtest.h>
#include <string>

#include "core/work/rules/condition_rules.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/feedback.h"
#include "core/work/rules/names.h"
#include "kubeclient/base/json.h"

namespace fleetadm::work {
namespace {

TEST(Vectors, FeedbackIsUpstreams) {
  int lines = 0;
  int differences = 0;
  const Status read = test::for_each_vector("feedback.jsonl.gz", [&](const Json& line) {
    ++lines;
    FeedbackOptions options;
    options.raw_json = flag(line, {"rawJson"});
    const FeedbackResult result = feedback_of_rule(object_at(line, {"rule"}), object_at(line, {"object"}), options);
    const Json& wanted = list_at(line, {"expect", "values"});
    const bool fails = find(line, {"expect", "error"}) != nullptr;
    if (result.values == wanted && fails == !result.error.empty()) return;
    if (++differences > 10) return;
    ADD_FAILURE() << str(line, {"id"}) << "\n rule " << dump_json(object_at(line, {"rule"})) << "\n want " << dump_json(wanted)
                  << " error " << str(line, {"expect", "error"}) << "\n got  " << dump_json(result.values) << " error "
                  << result.error;
  });
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_GT(lines, 0);
  EXPECT_EQ(differences, 0) << "of " << lines;
}

TEST(Vectors, HubHashIsUpstreams) {
  int checked = 0;
  const Status read = test::for_each_vector("hashes.jsonl.gz", [&](const Json& line) {
    if (str(line, {"kind"}) != "hubhash") return;
    ++checked;
    EXPECT_EQ(hub_hash(str(line, {"server"})), str(line, {"expect", "hash"})) << str(line, {"server"});
  });
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_GT(checked, 0);
}

TEST(Vectors, ConditionsAreUpstreams) {
  int checked = 0;
  const Status read = test::for_each_vector("condition.jsonl.gz", [&](const Json& line) {
    ++checked;
    Json got = evaluate_condition_rules(list_at(line, {"rules"}), object_at(line, {"object"}));
    const Json& wanted = list_at(line, {"expect", "conditions"});
    for (std::size_t i = 0; i < got.size() && i < wanted.size(); ++i) {
      const Json* message = find(wanted[i], {"message"});
      if (message == nullptr || message->is_null()) got[i]["message"] = nullptr;  // its words are not compared
    }
    EXPECT_EQ(got, wanted) << str(line, {"id"}) << " " << dump_json(list_at(line, {"rules"}))
                           << dump_json(object_at(line, {"object"}));
  });
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_GE(checked, 900);
}

}  // namespace
}  // namespace fleetadm::work
