// Every recorded hash of a configuration, computed again.
#include "core/addon/rules/config_hash.h"

#include <gtest/gtest.h>

#include "tests/support/vectors.h"

namespace fleetadm::addon {
namespace {

TEST(AddonConfigHash, EveryRecordedHashIsTheSame) {
  int run = 0;
  const Status read = fleetadm::test::for_each_vector("hashes.jsonl.gz", [&](const Json& line) {
    if (str(line, {"kind"}) != "spechash") return;
    ++run;
    EXPECT_EQ(config_spec_hash(object_at(line, {"object"})), str(line, {"expect", "hash"})) << str(line, {"id"});
  });
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(run, 450);
}

TEST(AddonConfigHash, OnlyTheContentCounts) {
  const Json one = *parse_json(R"({"apiVersion":"a/v1alpha1","kind":"K","metadata":{"name":"x"},"spec":{"v":"<&>"}})");
  const Json other = *parse_json(R"({"apiVersion":"a/v1beta1","metadata":{"name":"y"},"spec":{"v":"<&>"},"status":{"s":1}})");
  EXPECT_EQ(config_spec_hash(one), config_spec_hash(other));
  const Json changed = *parse_json(R"({"apiVersion":"a/v1alpha1","kind":"K","metadata":{"name":"x"},"spec":{"v":"<&"}})");
  EXPECT_NE(config_spec_hash(one), config_spec_hash(changed));
}

}  // namespace
}  // namespace fleetadm::addon
