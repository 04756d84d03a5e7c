#include <gtest/gtest.h>

#include "core/registration/agent/identity.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/names.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::registration::agent {
namespace {

TEST(AgentIdentity, SubjectNamesClusterAndAgent) {
  const pki::Subject subject = subject_of({"c1", "2qmvx"});
  EXPECT_EQ(subject.common_name, "system:open-cluster-management:c1:2qmvx");
  EXPECT_EQ(subject.organizations,
            (std::vector<std::string>{"system:open-cluster-management:c1", "system:open-cluster-management:managed-clusters"}));
}

TEST(AgentIdentity, SubjectsAreComparedAsSets) {
  const pki::Subject ours = subject_of({"c1", "a"});
  pki::Subject turned = ours;
  std::swap(turned.organizations[0], turned.organizations[1]);
  EXPECT_TRUE(same_subject(ours, turned));
  turned.organizations.push_back(turned.organizations[0]);
  EXPECT_TRUE(same_subject(ours, turned));
  turned.organizations.push_back("system:masters");
  EXPECT_FALSE(same_subject(ours, turned));
  pki::Subject units = ours;
  units.organizational_units = {"x"};
  EXPECT_FALSE(same_subject(ours, units));
  EXPECT_FALSE(same_subject(ours, subject_of({"c1", "b"})));
}

// The longest names that people can choose still make a request that says them in full.
TEST(AgentIdentity, LongNamesFitIntoARequest) {
  const Identity longest{std::string(63, 'c'), random_uuid()};
  const auto key = pki::generate_key();
  ASSERT_TRUE(key);
  const auto request = pki::make_csr(*key, subject_of(longest));
  ASSERT_TRUE(request) << request.error().message;
  const auto info = pki::parse_csr(*request);
  ASSERT_TRUE(info);
  EXPECT_TRUE(same_subject(info->subject, subject_of(longest)));
}

TEST(AgentIdentity, FlagsWinOverWhatWasStored) {
  const auto chosen = choose_identity({"c1", "flag"}, {"other", "stored"});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(*chosen, (Identity{"c1", "flag"}));
  const auto mixed = choose_identity({"c1", ""}, {"other", "stored"});
  ASSERT_TRUE(mixed);
  EXPECT_EQ(*mixed, (Identity{"c1", "stored"}));
}

TEST(AgentIdentity, WhatNobodySaidIsRandomAndValid) {
  const auto a = choose_identity({}, {});
  const auto b = choose_identity({}, {});
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->cluster, b->cluster);
  EXPECT_NE(a->agent, b->agent);
  EXPECT_EQ(a->agent.size(), 5U);
  EXPECT_TRUE(is_dns_label(a->cluster));
}

struct Refused {
  const char* cluster;
  const char* agent;
};
class AgentIdentityRefused : public testing::TestWithParam<Refused> {};

TEST_P(AgentIdentityRefused, IsAUsageError) {
  const auto chosen = choose_identity({GetParam().cluster, GetParam().agent}, {});
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().category, Category::kUsage);
}

INSTANTIATE_TEST_SUITE_P(Names, AgentIdentityRefused,
                         testing::Values(Refused{"C1", "a"}, Refused{"a.b", "a"}, Refused{"-a", "a"}, Refused{"a:b", "a"},
                                         Refused{"0123456789012345678901234567890123456789012345678901234567890123", "a"},
                                         Refused{"c1", "a:b"}, Refused{"c1", "a b"}, Refused{"c1", "a\n"}, Refused{"c1", "a/b"}));

}  // namespace
}  // namespace fleetadm::registration::agent
