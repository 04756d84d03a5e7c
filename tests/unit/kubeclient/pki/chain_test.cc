#include "kubeclient/pki/chain.h"

#include <gtest/gtest.h>

namespace fleetadm::pki {
namespace {

KeyPair leaf_of(const KeyPair& ca, Duration validity = std::chrono::hours(1)) {
  LeafOptions options;
  options.subject.common_name = "server";
  options.server = true;
  options.validity = validity;
  options.backdate = std::chrono::hours(48);
  return issue(ca, options).value();
}

TEST(ChainTest, TheAuthorityIsFoundByItsSignatureAmongThoseOfTheSameName) {
  const KeyPair before = make_ca("kubernetes", std::chrono::hours(24)).value();
  const KeyPair now = make_ca("kubernetes", std::chrono::hours(48)).value();
  const KeyPair leaf = leaf_of(now);
  const auto anchor = anchor_of(leaf.certificate, before.certificate + now.certificate);
  ASSERT_TRUE(anchor.has_value());
  EXPECT_EQ(anchor->spki_sha256, parse_certificates(now.certificate)->front().spki_sha256);
  EXPECT_FALSE(anchor_of(leaf.certificate, before.certificate).has_value()) << "the same name is not the same authority";
}

TEST(ChainTest, DatesAreNoQuestionOfTrust) {
  const KeyPair ca = make_ca("ca", std::chrono::hours(24)).value();
  EXPECT_TRUE(anchor_of(leaf_of(ca, -std::chrono::hours(1)).certificate, ca.certificate).has_value());
}

TEST(ChainTest, WhatCannotBeReadHasNoAnchor) {
  const KeyPair ca = make_ca("ca", std::chrono::hours(24)).value();
  EXPECT_FALSE(anchor_of("", ca.certificate).has_value());
  EXPECT_FALSE(anchor_of("not a certificate", ca.certificate).has_value());
  EXPECT_FALSE(anchor_of(leaf_of(ca).certificate, "").has_value());
}

TEST(ChainTest, OfABundleTheLongestLivedIsFound) {
  const KeyPair shorter = make_ca("a", std::chrono::hours(24)).value();
  const KeyPair longer = make_ca("b", std::chrono::hours(48)).value();
  EXPECT_EQ(longest_lived(longer.certificate + shorter.certificate)->subject.common_name, "b");
  EXPECT_EQ(longest_lived(shorter.certificate + longer.certificate)->subject.common_name, "b");
  EXPECT_FALSE(longest_lived("").has_value());
}

}  // namespace
}  // namespace fleetadm::pki
