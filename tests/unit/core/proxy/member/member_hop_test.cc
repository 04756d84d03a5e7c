#include "core/proxy/member/member_hop.h"

#include <gtest/gtest.h>

#include "core/proxy/rules/caller.h"
#include "tests/unit/core/proxy/member/recording_hop.h"

namespace fleetadm::proxy {
namespace {

serve::HttpRequest from_gateway(const Actor& actor, serve::Headers more = {}) {
  serve::HttpRequest out;
  out.method = "GET";
  out.path = "/api/v1/pods";
  out.headers = std::move(more);
  write_actor(actor, out.headers);
  return out;
}

Caller alice() { return {.name = "alice", .groups = {"ops", "dev team"}}; }

int code_of(const Result<serve::HttpRequest>& refused) { return refused ? 0 : refused.error().code; }

TEST(ActingRequest, ActsAsTheCallerAndNobodyElse) {
  auto caller = alice();
  caller.uid = "u-1";
  caller.extra = {{"example.com/Scope", {"a", "b"}}};
  const auto acting = acting_request(from_gateway(caller, {{"accept", "application/json"}}));
  ASSERT_TRUE(acting) << acting.error().message;
  EXPECT_EQ(acting->headers, (serve::Headers{{"accept", "application/json"},
                                             {"impersonate-user", "alice"},
                                             {"impersonate-uid", "u-1"},
                                             {"impersonate-group", "ops"},
                                             {"impersonate-group", "dev team"},
                                             {"impersonate-extra-example.com%2f%53cope", "a"},
                                             {"impersonate-extra-example.com%2f%53cope", "b"}}));
  EXPECT_EQ(acting->path, "/api/v1/pods");
}

TEST(ActingRequest, WhatAClientSaysOfItselfDoesNotArrive) {
  const auto acting = acting_request(from_gateway(alice(), {{"impersonate-user", "admin"},
                                                            {"impersonate-group", "system:masters"},
                                                            {"x-remote-user", "admin"},
                                                            {"x-remote-group", "system:masters"},
                                                            {"x-forwarded-for", "10.0.0.1"},
                                                            {"forwarded", "for=10.0.0.1"},
                                                            {"cookie", "a=b"},
                                                            {"host", "evil"},
                                                            {"cluster-proxy-host", "evil"},
                                                            {"fleetadm-other", "x"},
                                                            {"connection", "x-mine"},
                                                            {"x-mine", "1"}}));
  ASSERT_TRUE(acting);
  EXPECT_EQ(acting->headers,
            (serve::Headers{{"impersonate-user", "alice"}, {"impersonate-group", "ops"}, {"impersonate-group", "dev team"}}));
}

TEST(ActingRequest, ATokenOfTheMemberActsForItself) {
  const auto acting = acting_request(from_gateway(MemberToken{"t0"}, {{"impersonate-user", "admin"}}));
  ASSERT_TRUE(acting);
  EXPECT_EQ(acting->headers, (serve::Headers{{"authorization", "Bearer t0"}}));
}

TEST(ActingRequest, RefusesWhoIsNobodyOrTwoOrReserved) {
  EXPECT_EQ(code_of(acting_request({})), 403);
  serve::HttpRequest plain;
  plain.headers = {{"authorization", "Bearer hub"}};
  EXPECT_EQ(code_of(acting_request(plain)), 403) << "a credential that the gateway did not call the member's";
  auto both = from_gateway(alice());
  write_actor(MemberToken{"t0"}, both.headers);
  EXPECT_EQ(code_of(acting_request(both)), 403);
  auto twice = from_gateway(alice());
  write_actor(alice(), twice.headers);
  EXPECT_EQ(code_of(acting_request(twice)), 403);
  for (const std::string name : {"", "system:admin", "system:kube-controller-manager", "system:node:n1", "cluster:hub:root",
                                 "system:serviceaccount:kube-system:default", "system:anonymous"}) {
    EXPECT_EQ(code_of(acting_request(from_gateway(Caller{.name = name}))), 403) << name;
  }
  for (const std::string group : {"system:masters", "system:nodes", "system:serviceaccounts:kube-system", "cluster:hub:x", ""}) {
    EXPECT_EQ(code_of(acting_request(from_gateway(Caller{.name = "alice", .groups = {group}}))), 403) << group;
  }
}

TEST(ActingRequest, RefusesNamesThatWouldArriveAsOthers) {
  EXPECT_EQ(code_of(acting_request(from_gateway(Caller{.name = " system:admin"}))), 403);
  EXPECT_EQ(code_of(acting_request(from_gateway(Caller{.name = "alice "}))), 403);
  EXPECT_EQ(code_of(acting_request(from_gateway(Caller{.name = "alice", .groups = {" system:masters"}}))), 403);
  EXPECT_EQ(
      code_of(acting_request(from_gateway(Caller{.name = "alice", .groups = {"ops\r\nimpersonate-group: system:masters"}}))),
      403);
  EXPECT_EQ(code_of(acting_request(from_gateway(Caller{.name = "alice", .uid = " 1"}))), 403);
  EXPECT_EQ(code_of(acting_request(from_gateway(Caller{.name = "alice", .extra = {{"k", {"v "}}}}))), 403);
}

TEST(ActingRequest, AnUpgradeStaysOne) {
  const auto acting = acting_request(from_gateway(
      alice(),
      {{"connection", "keep-alive, Upgrade"}, {"upgrade", "SPDY/3.1"}, {"x-stream-protocol-version", "v4.channel.k8s.io"}}));
  ASSERT_TRUE(acting);
  EXPECT_EQ(acting->headers, (serve::Headers{{"x-stream-protocol-version", "v4.channel.k8s.io"},
                                             {"connection", "Upgrade"},
                                             {"upgrade", "SPDY/3.1"},
                                             {"impersonate-user", "alice"},
                                             {"impersonate-group", "ops"},
                                             {"impersonate-group", "dev team"}}));
}

class MemberHopTest : public testing::Test {
 protected:
  Result<serve::HttpResponse> send(serve::HttpRequest request) {
    std::optional<Result<serve::HttpResponse>> out;
    hop_.send(std::move(request), [&](Result<serve::HttpResponse> answer) { out = std::move(answer); });
    return out.value();
  }
  std::shared_ptr<RecordingHop> api_server_ = std::make_shared<RecordingHop>();
  MemberHop hop_{api_server_};
};

TEST_F(MemberHopTest, NothingOfWhatIsRefusedArrives) {
  const auto answer = send({});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, 403);
  EXPECT_TRUE(api_server_->requests.empty());
}

TEST_F(MemberHopTest, AnswersDoNotSpeakForTheGateway) {
  api_server_->answer.headers = {
      {"content-type", "application/json"}, {"set-cookie", "a=b"}, {"via", "1.1 x"}, {"fleetadm-switched", "SPDY/3.1"},
      {"location", "https://elsewhere/"},   {"audit-id", "1"}};
  api_server_->answer.status = 302;
  const auto answer = send(from_gateway(alice()));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 302);
  EXPECT_EQ(answer->headers,
            (serve::Headers{{"content-type", "application/json"}, {"location", "https://elsewhere/"}, {"audit-id", "1"}}));
}

TEST_F(MemberHopTest, ARefusedCredentialIsTheAgentsOrTheCallers) {
  api_server_->answer.status = 401;
  const auto impersonated = send(from_gateway(alice()));
  ASSERT_FALSE(impersonated);
  EXPECT_EQ(impersonated.error().code, 502);
  const auto own = send(from_gateway(MemberToken{"t0"}));
  ASSERT_TRUE(own);
  EXPECT_EQ(own->status, 401);
}

TEST_F(MemberHopTest, FailuresArePassedOn) {
  api_server_->error = Error{.code = 504, .category = Category::kTimeout, .message = "silent"};
  const auto answer = send(from_gateway(alice()));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, 504);
}

}  // namespace
}  // namespace fleetadm::proxy
