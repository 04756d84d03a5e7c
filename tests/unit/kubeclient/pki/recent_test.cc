#include "kubeclient/pki/recent.h"

#include <gtest/gtest.h>

namespace fleetadm::pki {
namespace {

TEST(Recent, KeepsTheLastByTheirText) {
  Recent<int, 2> recent;
  EXPECT_EQ(recent.find(""), std::nullopt) << "an empty place is no text";
  recent.keep("a", 1);
  recent.keep("b", 2);
  EXPECT_EQ(recent.find("a"), 1);
  EXPECT_EQ(recent.find("b"), 2);
  EXPECT_EQ(recent.find("ab"), std::nullopt);
  recent.keep("c", 3);
  EXPECT_EQ(recent.find("a"), std::nullopt);
  EXPECT_EQ(recent.find("c"), 3);
}

}  // namespace
}  // namespace fleetadm::pki
