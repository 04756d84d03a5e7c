#include "kubeclient/watch/mutation_cache.h"

#include <gtest/gtest.h>

namespace fleetadm::kube {
namespace {

Json object(const std::string& uid, const std::string& version) {
  return {{"metadata", {{"uid", uid}, {"resourceVersion", version}}}};
}

TEST(MutationCache, WhatWasWrittenCountsUntilTheInformerHasIt) {
  MutationCache cache;
  EXPECT_EQ(cache.newest(object("a", "9")), object("a", "9"));
  cache.note(object("a", "10"));
  EXPECT_EQ(cache.newest(object("a", "9")), object("a", "10"));
  EXPECT_EQ(cache.newest(object("a", "9")), object("a", "10"));
  EXPECT_EQ(cache.newest(object("b", "9")), object("b", "9"));
  EXPECT_EQ(cache.newest(object("a", "10")), object("a", "10"));
  EXPECT_EQ(cache.newest(object("a", "9")), object("a", "9"));  // forgotten
}

TEST(MutationCache, AnAnswerThatComesLateReplacesNone) {
  MutationCache cache;
  cache.note(object("a", "12"));
  cache.note(object("a", "11"));
  EXPECT_EQ(cache.newest(object("a", "9")), object("a", "12"));
  EXPECT_EQ(cache.newest(object("a", "13")), object("a", "13"));
}

TEST(MutationCache, VersionsAreNumbers) {
  EXPECT_TRUE(is_newer_version("10", "9"));
  EXPECT_TRUE(is_newer_version("18446744073709551616", "18446744073709551615"));
  EXPECT_FALSE(is_newer_version("9", "10"));
  EXPECT_FALSE(is_newer_version("9", "9"));
  EXPECT_FALSE(is_newer_version("x9", "1"));
  EXPECT_FALSE(is_newer_version("9", ""));
}

}  // namespace
}  // namespace fleetadm::kube
