#include "core/proxy/client/fan_out.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "core/proxy/client/hops.h"
#include "tests/support/fake_gateway.h"

namespace fleetadm::proxy {
namespace {

using testkit::FakeGateway;

std::vector<std::string> clusters_named(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("c" + std::to_string(i));
  return names;
}

kube::Request pods() {
  kube::Request request;
  request.path = "/api/v1/pods";
  return request;
}

TEST(FanOut, EveryClusterIsAskedOnceAndItsAnswersAreItsOwn) {
  FakeGateway gateway;
  const auto names = clusters_named(40);
  for (const std::string& name : names)
    gateway.add(name).put(kube::resources::pods(), {{"metadata", {{"name", "of-" + name}, {"namespace", "default"}}}});
  std::vector<std::string> found(names.size());
  FanOut plan{gateway, names};
  plan.at_once = 7;
  fan_out(plan, pods(), [&](FanOutAnswer answer) -> std::optional<kube::Request> {
    EXPECT_TRUE(answer.response);
    if (answer.response) found[answer.which] += name_of(list_at(*parse_json(answer.response->body), {"items"}).front());
    return std::nullopt;
  });
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(found[i], "of-" + names[i]);
  EXPECT_EQ(gateway.asked().size(), names.size());
  EXPECT_LE(gateway.most_at_once(), 7U);
}

TEST(FanOut, ASilentClusterCostsItsDeadlineAndHoldsUpNoOther) {
  FakeGateway gateway;
  const auto names = clusters_named(30);
  for (std::size_t i = 0; i < names.size(); ++i) {
    gateway.add(names[i]);
    if (i % 3 == 0) gateway.silence(names[i]);
  }
  FanOut plan{gateway, names};
  plan.deadline = std::chrono::milliseconds(300);
  const auto begun = std::chrono::steady_clock::now();
  std::size_t silent = 0;
  std::size_t answered = 0;
  fan_out(plan, pods(), [&](FanOutAnswer answer) -> std::optional<kube::Request> {
    if (answer.response) {
      ++answered;
    } else {
      EXPECT_EQ(answer.response.error().category, Category::kTimeout);
      EXPECT_EQ(answer.which % 3, 0U);
      ++silent;
    }
    return std::nullopt;
  });
  const auto took = std::chrono::steady_clock::now() - begun;
  EXPECT_EQ(silent, 10U);
  EXPECT_EQ(answered, 20U);
  EXPECT_GE(took, plan.deadline);
  EXPECT_LT(took, plan.deadline + std::chrono::seconds(5));
}

TEST(FanOut, HundredsOfSilentClustersCostOneDeadlineTogether) {
  FakeGateway gateway;
  const auto names = clusters_named(600);
  for (const std::string& name : names) {
    gateway.add(name);
    gateway.silence(name);
  }
  FanOut plan{gateway, names};
  plan.deadline = std::chrono::seconds(2);
  const auto begun = std::chrono::steady_clock::now();
  std::size_t told = 0;
  fan_out(plan, pods(), [&](const FanOutAnswer&) -> std::optional<kube::Request> {
    ++told;
    return std::nullopt;
  });
  EXPECT_EQ(told, names.size());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 2 * plan.deadline);
}

TEST(FanOut, AskedAgainForWhatTheAnswerLeadsTo) {
  FakeGateway gateway;
  gateway.add("c0");
  int step = 0;
  fan_out({gateway, {"c0"}}, pods(), [&](FanOutAnswer) -> std::optional<kube::Request> {
    if (++step == 3) return std::nullopt;
    return pods();
  });
  EXPECT_EQ(gateway.asked(), (std::vector<std::string>(3, "c0 /api/v1/pods")));
}

TEST(FanOut, ALimitIsWaitedForAndTriedAgain) {
  FakeGateway gateway;
  gateway.add("c0");
  std::atomic<int> refused = 0;
  gateway.on_request([&](const std::string&, const kube::Request&) -> std::optional<kube::Response> {
    if (refused++ > 0) return std::nullopt;
    auto response = FakeGateway::refusal(429, "TooManyRequests", "slow down");
    response.headers["retry-after"] = "1";
    return response;
  });
  int code = 0;
  fan_out({gateway, {"c0"}}, pods(), [&](FanOutAnswer answer) -> std::optional<kube::Request> {
    code = answer.response ? answer.response->status : 0;
    return std::nullopt;
  });
  EXPECT_EQ(code, 200);
  EXPECT_EQ(gateway.asked().size(), 2U);

  // Where the wait would pass the deadline, the refusal is the answer.
  refused = -1000;
  gateway.on_request([](const std::string&, const kube::Request&) -> std::optional<kube::Response> {
    return FakeGateway::refusal(429, "TooManyRequests", "slow down");
  });
  FanOut plan{gateway, {"c0"}};
  plan.deadline = std::chrono::milliseconds(200);
  fan_out(plan, pods(), [&](FanOutAnswer answer) -> std::optional<kube::Request> {
    code = answer.response ? answer.response->status : 0;
    return std::nullopt;
  });
  EXPECT_EQ(code, 429);
}

TEST(FanOut, EndsWhenToldToStop) {
  FakeGateway gateway;
  for (const char* name : {"c0", "c1"}) gateway.silence(name);
  std::stop_source stop;
  FanOut plan{gateway, {"c0", "c1"}};
  plan.at_once = 1;
  plan.deadline = std::chrono::minutes(5);
  plan.stop = stop.get_token();
  std::jthread later([&] { stop.request_stop(); });
  std::size_t told = 0;
  fan_out(plan, pods(), [&](FanOutAnswer answer) -> std::optional<kube::Request> {
    EXPECT_FALSE(answer.response);
    if (!answer.response) {
      EXPECT_EQ(answer.response.error().category, Category::kCancelled);
    }
    ++told;
    return std::nullopt;
  });
  EXPECT_EQ(told, 2U);
}

TEST(WayState, SaysWhereTheWayEnds) {
  const auto at = [](const Result<kube::Response>& answer, bool gateway_answers = true) {
    const WayState state = way_state(answer, gateway_answers);
    return state.status + "/" + std::string(to_string(state.hop));
  };
  const auto refused = [](int code, const char* reason) { return FakeGateway::refusal(code, reason, "why"); };
  EXPECT_EQ(at(kube::Response{200, {}, "ok"}), "Healthy/");
  EXPECT_EQ(at(kube::Response{500, {}, "[-]etcd failed"}), "NotReady/member");
  EXPECT_EQ(at(refused(503, "ServiceUnavailable")), "NoTunnel/tunnel");
  EXPECT_EQ(at(kube::Response{503, {}, "apiserver is shutting down"}), "NotReady/member");
  EXPECT_EQ(at(refused(504, "Timeout")), "Timeout/member");
  EXPECT_EQ(at(refused(502, "BadGateway")), "Broken/tunnel");
  EXPECT_EQ(at(refused(401, "Unauthorized")), "Unauthorized/gateway");
  EXPECT_EQ(at(refused(403, "Forbidden")), "Forbidden/gateway");
  EXPECT_EQ(at(refused(404, "NotFound")), "NotFound/gateway");
  kube::Response of_member = refused(403, "Forbidden");
  of_member.body.insert(of_member.body.size() - 1, R"(,"details":{})");
  EXPECT_EQ(at(of_member), "Forbidden/member");
  for (const char* kind : {"users", "groups", "serviceaccounts", "uids", "userextras"}) {
    kube::Response agent_refused = refused(403, "Forbidden");
    agent_refused.body.insert(agent_refused.body.size() - 1,
                              R"(,"details":{"name":"jane","kind":")" + std::string(kind) + R"("})");
    EXPECT_EQ(at(agent_refused), "Forbidden/agent") << kind;
    EXPECT_NE(way_state(agent_refused, true).message.find("may not act as you"), std::string::npos) << kind;
  }
  kube::Response with_delay = refused(503, "ServiceUnavailable");
  with_delay.body.insert(with_delay.body.size() - 1, R"(,"details":{"retryAfterSeconds":1})");
  EXPECT_EQ(at(with_delay), "NoTunnel/tunnel");
  EXPECT_EQ(at(fail(Category::kTimeout, "no answer")), "Timeout/member");
  EXPECT_EQ(at(fail(Category::kTimeout, "no answer"), false), "Timeout/gateway");
  EXPECT_EQ(at(fail(Category::kTls, "unknown authority")), "Unreachable/gateway");
  EXPECT_EQ(way_state(refused(503, "ServiceUnavailable"), true).message, "why");
}

TEST(WayState, BelievesTheHopThatTheGatewayNames) {
  const auto at = [](int code, const char* hop) {
    kube::Response answer = FakeGateway::refusal(code, "Whatever", "why");
    answer.headers["fleetadm-hop"] = hop;
    answer.body.insert(answer.body.size() - 1, R"(,"details":{"causes":[{"reason":"FailedHop","message":"x"}]})");
    EXPECT_FALSE(is_of_member(answer)) << hop;
    const WayState state = way_state(answer, true);
    return state.status + "/" + std::string(to_string(state.hop));
  };
  EXPECT_EQ(at(503, "tunnel"), "NoTunnel/tunnel");
  EXPECT_EQ(at(503, "hub"), "NotReady/hub");
  EXPECT_EQ(at(503, "gateway"), "NotReady/gateway");
  EXPECT_EQ(at(502, "member"), "Broken/member");
  EXPECT_EQ(at(504, "tunnel"), "Timeout/tunnel");
  EXPECT_EQ(at(403, "agent"), "Forbidden/agent");
  EXPECT_EQ(at(403, "gateway"), "Forbidden/gateway");
  EXPECT_EQ(at(404, "gateway"), "NotFound/gateway");
}

TEST(WayState, SaysWhereTheWayThroughClusterProxyEnds) {
  const auto at = [](Way way, const Result<kube::Response>& answer) {
    const WayState state = way_state(answer, false, way);
    return state.status + "/" + std::string(to_string(state.hop));
  };
  const auto refused = [](int code, const char* reason) { return FakeGateway::refusal(code, reason, "why"); };
  for (const Way way : {Way::kUserServer, Way::kKonnectivity}) {
    EXPECT_EQ(at(way, kube::Response{200, {}, "ok"}), "Healthy/");
    EXPECT_EQ(at(way, refused(502, kNoRoute)), "NoRoute/hub");
    EXPECT_EQ(at(way, refused(503, kNoTunnel)), "NoTunnel/tunnel");
    EXPECT_EQ(at(way, refused(502, kMemberNotVerified)), "NotVerified/member");
    kube::Response of_member = refused(403, "Forbidden");
    of_member.body.insert(of_member.body.size() - 1, R"(,"details":{})");
    EXPECT_EQ(at(way, of_member), "Forbidden/member");
  }
  EXPECT_EQ(at(Way::kUserServer, refused(502, kServerUnreachable)), "Unreachable/user-server");
  EXPECT_EQ(at(Way::kKonnectivity, refused(502, kFrontEndUnreachable)), "Unreachable/front-end");
  EXPECT_EQ(at(Way::kUserServer, kube::Response{400, {}, "connection refused"}), "Unreachable/front-end");
  EXPECT_EQ(at(Way::kUserServer, kube::Response{502, {}, "No agent available"}), "NoTunnel/tunnel");
  EXPECT_EQ(at(Way::kUserServer, kube::Response{401, {}, "authentication failed"}), "Unauthorized/member");
  EXPECT_EQ(at(Way::kKonnectivity, fail(Category::kTimeout, "no answer")), "Timeout/front-end");
  EXPECT_EQ(at(Way::kGateway, refused(502, kMemberNotVerified)), "Broken/tunnel") << "words of the relay, which is not there";
}

}  // namespace
}  // namespace fleetadm::proxy
