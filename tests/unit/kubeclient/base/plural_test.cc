#include "kubeclient/base/plural.h"

#include <gtest/gtest.h>

namespace fleetadm {
namespace {

TEST(Pluralize, OneIsSingularEverythingElseIsPlural) {
  EXPECT_EQ(pluralize(0, "cluster"), "0 clusters");
  EXPECT_EQ(pluralize(1, "cluster"), "1 cluster");
  EXPECT_EQ(pluralize(2, "cluster"), "2 clusters");
  EXPECT_EQ(pluralize(1000, "managed cluster"), "1000 managed clusters");
}

TEST(Pluralize, AddsEsAfterASibilant) {
  EXPECT_EQ(pluralize(1, "batch"), "1 batch");
  EXPECT_EQ(pluralize(2, "batch"), "2 batches");
  EXPECT_EQ(pluralize(3, "alias"), "3 aliases");
}

}  // namespace
}  // namespace fleetadm
