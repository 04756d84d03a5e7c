#include "kubeclient/base/yaml_keys.h"

#include <gtest/gtest.h>

namespace fleetadm {
namespace {

TEST(YamlKeys, TellsTheSecondOneAndItsLine) {
  const auto found = duplicate_yaml_keys("\na: 1\nb:\n- x: 1\n  y: {x: 1}\n- x: 2\n  x: 3\nc: *a\na: [1]\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].key, "x");
  EXPECT_EQ(found[0].line, 7);
  EXPECT_EQ(found[1].key, "a");
  EXPECT_EQ(found[1].line, 9);
}

TEST(YamlKeys, ReadsJsonAndStopsWhereItMust) {
  EXPECT_EQ(duplicate_yaml_keys(R"({"a":{"b":1,"c":2},"b":[{"a":1},{"a":1}]})").size(), 0U);
  EXPECT_EQ(duplicate_yaml_keys(R"({"a":1,"a":2,"a":3})").size(), 2U);
  EXPECT_EQ(duplicate_yaml_keys(R"({"a":1,"a":2,"a":3})", 1).size(), 1U);
  EXPECT_EQ(duplicate_yaml_keys("a: [").size(), 0U);
  EXPECT_EQ(duplicate_yaml_keys(std::string(100'000, '[')).size(), 0U);
}

}  // namespace
}  // namespace fleetadm
