#include "core/proxy/rules/caller.h"

#include <gtest/gtest.h>

namespace fleetadm::proxy {
namespace {

using serve::Headers;

Caller caller(std::string name, std::vector<std::string> groups = {}) {
  return {.name = std::move(name), .uid = {}, .groups = std::move(groups), .extra = {}};
}

TEST(CallerAtMember, UsersKeepTheirNamesAndTheirOwnGroups) {
  const auto out = caller_at_member(caller("jane@example.com", {"devs", "system:authenticated", "oidc:ops"}));
  ASSERT_TRUE(out);
  EXPECT_EQ(out->name, "jane@example.com");
  EXPECT_EQ(out->groups, (std::vector<std::string>{"devs", "oidc:ops"}));
}

TEST(CallerAtMember, ServiceAccountsOfTheHubAreNotThoseOfTheMember) {
  const auto out =
      caller_at_member(caller("system:serviceaccount:kube-system:default",
                              {"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"}));
  ASSERT_TRUE(out);
  EXPECT_EQ(out->name, "cluster:hub:system:serviceaccount:kube-system:default");
  EXPECT_EQ(out->groups,
            (std::vector<std::string>{"cluster:hub:system:serviceaccounts", "cluster:hub:system:serviceaccounts:kube-system"}));
}

TEST(CallerAtMember, ReservedUsersAreRefused) {
  for (const char* name :
       {"", "system:anonymous", "system:admin", "system:kube-controller-manager", "system:node:n1",
        "system:open-cluster-management:c1:agent", "system:serviceaccount:kube-system", "system:serviceaccount::default",
        "system:serviceaccount:a:b:c", "system:serviceaccount:A:b", "cluster:hub:system:serviceaccount:kube-system:default",
        "cluster:hub:fleetadm-push-01234567:works", "jane\nx", "jane\xff"}) {
    const auto out = caller_at_member(caller(name));
    ASSERT_FALSE(out) << name;
    EXPECT_EQ(out.error().code, 403) << name;
  }
}

TEST(CallerAtMember, ReservedGroupsNeverCross) {
  const auto out = caller_at_member(caller(
      "jane",
      {"system:masters", "system:nodes", "system:kube-controller-manager", "system:unauthenticated", "system:serviceaccountsx",
       "system:serviceaccounts:", "system:serviceaccounts:a:b", "cluster:hub:system:serviceaccounts", "", "a\x01", "devs"}));
  ASSERT_TRUE(out);
  EXPECT_EQ(out->groups, std::vector<std::string>{"devs"});
}

TEST(CallerAtMember, GroupsOfServiceAccountsCrossWithThePrefixWhoeverIsInThem) {
  const auto out = caller_at_member(caller("jane", {"system:serviceaccounts:kube-system"}));
  ASSERT_TRUE(out);
  EXPECT_EQ(out->groups, std::vector<std::string>{"cluster:hub:system:serviceaccounts:kube-system"});
}

TEST(CallerAtMember, UidAndExtraStayOnTheHub) {
  Caller jane = caller("jane");
  jane.uid = "4711";
  jane.extra = {{"authentication.kubernetes.io/node-name", {"n1"}}, {"example.com/tenant", {"a"}}};
  const auto out = caller_at_member(jane);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->uid, "");
  EXPECT_TRUE(out->extra.empty());
}

TEST(CheckCaller, TheAgentBelievesNoReservedName) {
  EXPECT_TRUE(check_caller(caller("jane", {"devs"})));
  EXPECT_TRUE(check_caller(caller("cluster:hub:system:serviceaccount:a:b", {"cluster:hub:system:serviceaccounts:a"})));
  for (const auto& bad : {caller(""), caller("system:admin"), caller("system:serviceaccount:a:b"), caller("cluster:hub:jane"),
                          caller("cluster:hub:system:admin"), caller("cluster:hub:fleetadm-push-01234567:works"),
                          caller("jane", {"system:masters"}), caller("jane", {""}), caller("jane", {"system:authenticated"}),
                          caller("jane", {"cluster:hub:system:masters"})}) {
    const auto verdict = check_caller(bad);
    ASSERT_FALSE(verdict) << bad.name;
    EXPECT_EQ(verdict.error().code, 403);
  }
}

TEST(ActorHeaders, ComeBackAsTheyWere) {
  Caller jane = caller("Jané Doe, \"x\"", {"a b", "c%2F,d"});
  jane.uid = "4711:x";
  jane.extra = {{"example.com/Tenant", {"1", "2\xc3\xa9"}}};
  Headers headers;
  write_actor(jane, headers);
  for (const auto& [name, value] : headers) {
    EXPECT_EQ(name.find_first_of(" /ABCDEFGHIJKLMNOPQRSTUVWXYZ"), std::string::npos) << name;
    EXPECT_EQ(value.find_first_of(" ,\"\xc3"), std::string::npos) << value;
  }
  const auto back = read_actor(headers);
  ASSERT_TRUE(back);
  const auto* who = std::get_if<Caller>(&*back);
  ASSERT_NE(who, nullptr);
  EXPECT_EQ(who->name, jane.name);
  EXPECT_EQ(who->uid, jane.uid);
  EXPECT_EQ(who->groups, jane.groups);
  EXPECT_EQ(who->extra, jane.extra);
}

TEST(ActorHeaders, AMembersTokenGoesAsItIs) {
  Headers headers;
  write_actor(MemberToken{"a.b.c"}, headers);
  const auto back = read_actor(headers);
  ASSERT_TRUE(back);
  const auto* token = std::get_if<MemberToken>(&*back);
  ASSERT_NE(token, nullptr);
  EXPECT_EQ(token->token, "a.b.c");
}

TEST(ActorHeaders, AnythingElseIsRefused) {
  const std::vector<Headers> cases = {
      {},
      {{"authorization", "Bearer x"}},
      {{"fleetadm-group", "devs"}},
      {{"fleetadm-user", ""}},
      {{"fleetadm-user", "system%3aadmin"}},
      {{"fleetadm-user", "jane"}, {"fleetadm-group", "system:masters"}},
      {{"fleetadm-user", "jane"}, {"fleetadm-user", "joe"}},
      {{"fleetadm-user", "jane"}, {"fleetadm-uid", "1"}, {"fleetadm-uid", "2"}},
      {{"fleetadm-user", "jane%"}},
      {{"fleetadm-user", "jane%0a"}},
      {{"fleetadm-user", "jane%ff"}},
      {{"fleetadm-user", "jane"}, {"fleetadm-extra-a%zz", "1"}},
      {{"fleetadm-user", "jane"}, {"authorization", "Bearer x"}},
      {{"fleetadm-user", "jane"}, {"fleetadm-token", "member"}, {"authorization", "Bearer x"}},
      {{"fleetadm-group", "devs"}, {"fleetadm-token", "member"}, {"authorization", "Bearer x"}},
      {{"fleetadm-token", "member"}},
      {{"fleetadm-token", "hub"}, {"authorization", "Bearer x"}},
      {{"fleetadm-token", "member"}, {"authorization", "Bearer "}},
      {{"fleetadm-token", "member"}, {"authorization", "Basic x"}},
      {{"fleetadm-token", "member"}, {"authorization", "Bearer x"}, {"authorization", "Bearer y"}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto out = read_actor(cases[i]);
    ASSERT_FALSE(out) << i;
    EXPECT_EQ(out.error().code, 403) << i;
  }
}

TEST(ActorHeaders, WhatTheTunnelSaysBesideIsLeftAlone) {
  EXPECT_TRUE(read_actor({{"fleetadm-user", "jane"}, {"fleetadm-upgrade", "SPDY/3.1"}, {"accept", "*/*"}}));
}

}  // namespace
}  // namespace fleetadm::proxy
