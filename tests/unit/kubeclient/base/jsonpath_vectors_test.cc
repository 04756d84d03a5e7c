// What Kubernetes' own evaluator answered to paths of rules, well-formed and not.
#include <algorithm>
#include <gtest/gtest.h>

#include "kubeclient/base/jsonpath.h"
#include "tests/support/vectors.h"

namespace fleetadm {
namespace {

/// In no order: there, objects have none.
std::vector<std::string> texts_of(const std::vector<Json>& values) {
  std::vector<std::string> texts;
  for (const Json& value : values) texts.push_back(dump_json(value));
  std::sort(texts.begin(), texts.end());
  return texts;
}

TEST(JsonPathVectors, AreAnsweredAsByKubernetes) {
  const Status read = test::for_each_vector("jsonpath.jsonl.gz", [](const Json& row) {
    const std::string path = str(row, {"path"});
    const auto found = select_json_path(path, row["object"]);
    if (flag(row, {"error"})) {
      EXPECT_FALSE(found) << path << " in " << dump_json(row["object"]);
      return;
    }
    ASSERT_TRUE(found) << path << " in " << dump_json(row["object"]) << ": " << found.error().message;
    EXPECT_EQ(texts_of(*found), texts_of(list_at(row, {"values"}).get<std::vector<Json>>()))
        << path << " in " << dump_json(row["object"]);
  });
  EXPECT_TRUE(read) << read.error().message;
}

}  // namespace
}  // namespace fleetadm
