#include "kubeclient/base/shared_values.h"

#include <gtest/gtest.h>
#include <vector>

namespace fleetadm {
namespace {

std::shared_ptr<const int> number(int value) { return std::make_shared<const int>(value); }

TEST(SharedValues, AreMadeOnceAndSharedWhileTheyAreHeld) {
  SharedValues<int> values;
  int made = 0;
  const auto make = [&] { return number(++made); };
  auto first = values.of("a", make);
  EXPECT_EQ(values.of("a", make), first);
  EXPECT_EQ(*values.of("b", make), 2);
  first.reset();
  EXPECT_EQ(*values.of("a", make), 3) << "nobody held it any more";
}

TEST(SharedValues, WhatCannotBeMadeIsTriedAgain) {
  SharedValues<int> values;
  EXPECT_EQ(values.of("a", [] { return std::shared_ptr<const int>(); }), nullptr);
  EXPECT_EQ(*values.of("a", [] { return number(1); }), 1);
}

TEST(SharedValues, TextsOfWhatNobodyHoldsAreForgotten) {
  SharedValues<int> values;
  std::vector<std::shared_ptr<const int>> held;
  for (int i = 0; i < 10; ++i) held.push_back(values.of("held " + std::to_string(i), [i] { return number(i); }));
  for (int i = 0; i < 10000; ++i) values.of(std::to_string(i), [i] { return number(i); });
  EXPECT_LT(values.size(), 200U);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(values.of("held " + std::to_string(i), [] { return number(-1); }), held[static_cast<std::size_t>(i)]);
}

}  // namespace
}  // namespace fleetadm
