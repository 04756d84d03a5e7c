// The agent against a hub and a managed cluster in memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "core/api/managed_service_account.h"
#include "core/msa/agent/account_agent.h"
#include "core/msa/rules/token_secret.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/fake_api.h"
#include "tests/support/killable.h"

namespace fleetadm::msa {

using std::chrono::minutes;
using std::chrono::seconds;
using testkit::FakeApi;
namespace res = kube::resources;

inline constexpr const char* kNs = "open-cluster-management-agent-addon";

class AccountAgentTest : public testing::Test {
 protected:
  void SetUp() override { make(); }
  void TearDown() override { agent.stop(); }

  void make() {
    agent.stop();
    hub = FakeApi::make(clock);
    spoke = FakeApi::make(clock);
    tokens = 0;
    // The garbage collector, and the members of a token, are the API servers'.
    hub->on_request([this](const testkit::ApiCall& call) -> std::optional<kube::Response> {
      if (on_write && call.is_write()) on_write();
      return std::nullopt;
    });
    spoke->on_request([this](const testkit::ApiCall& call) -> std::optional<kube::Response> {
      if (on_write && call.is_write()) on_write();
      if (call.subresource != "token" || !issues) return std::nullopt;
      const auto account = spoke->get(res::service_accounts(), call.ns, call.name);
      if (!account) return std::nullopt;
      kube::Response response;
      response.status = 201;
      response.body =
          dump_json({{"kind", "TokenRequest"},
                     {"status", {{"token", token(uid_of(*account), num(call.body, {"spec", "expirationSeconds"}))}}}});
      return response;
    });
  }
  std::string token(const std::string& uid, std::int64_t lasts) {
    const auto now = std::chrono::duration_cast<seconds>(clock->now().time_since_epoch()).count();
    const Json claims{{"iat", now},
                      {"exp", now + std::min<std::int64_t>(lasts, longest)},
                      {"kubernetes.io", {{"serviceaccount", {{"name", "app"}, {"uid", uid}}}}}};
    return base64url_encode("{}") + "." + base64url_encode(dump_json(claims)) + ".sig" + std::to_string(++tokens);
  }
  void start(int die_after = -1) {
    agent.start(
        [this](controller::Manager& manager, const std::shared_ptr<kube::WriteGate>& gate) {
          AccountAgentOptions options;
          options.cluster = "c1";
          options.ns = kNs;
          options.authority = "the authority";
          options.clock = clock;
          options.owner = owner;
          options.look = look_every;
          options.tick = tick_every;
          add_account_agent(manager, hub->client(gate), spoke->client(gate), options);
        },
        die_after);
  }
  Json declare(const Json& spec = {{"rotation", {{"validity", "1h"}}}}, const std::string& name = "app") {
    return hub->put(api::managed_service_accounts(), {{"apiVersion", api::managed_service_accounts().api_version()},
                                                      {"kind", "ManagedServiceAccount"},
                                                      {"metadata", {{"name", name}, {"namespace", "c1"}}},
                                                      {"spec", spec}});
  }
  static bool eventually(const std::function<bool()>& done, Duration timeout = seconds(10)) {
    const auto until = std::chrono::steady_clock::now() + timeout;
    while (std::chrono::steady_clock::now() < until) {
      if (done()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return done();
  }
  Json object(const std::string& name = "app") const {
    return hub->get(api::managed_service_accounts(), "c1", name).value_or(Json());
  }
  Json account(const std::string& name = "app") const { return spoke->get(res::service_accounts(), kNs, name).value_or(Json()); }
  Json secret(const std::string& name = "app") const { return hub->get(res::secrets(), "c1", name).value_or(Json()); }
  std::string message() const {
    const Json* condition = nullptr;
    const Json now = object();
    condition = controller::find_condition(now, api::kConditionTokenReported);
    return condition != nullptr && str(*condition, {"status"}) == "False" ? str(*condition, {"message"}) : "";
  }
  /// Secret and status are of the account as it is.
  bool good() const {
    const Json now = object();
    const auto claims = claims_for(secret(), uid_of(account()));
    return claims && controller::condition_is(now, api::kConditionSecretCreated, "True") &&
           controller::condition_is(now, api::kConditionTokenReported, "True") &&
           str(now, {"status", "expirationTimestamp"}) == format_time(claims->expires);
  }
  /// What the events of the agent's own writes caused is done: a change that follows them was seen.
  void settle() {
    declare({{"rotation", {{"validity", "0"}}}}, "marker");
    ASSERT_TRUE(eventually([&] { return !list_at(object("marker"), {"status", "conditions"}).empty(); }));
    hub->erase(api::managed_service_accounts(), "c1", "marker");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }

  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(*parse_time("2026-03-01T10:00:00Z"));
  std::shared_ptr<FakeApi> hub;
  std::shared_ptr<FakeApi> spoke;
  std::atomic<int> tokens = 0;
  std::atomic<bool> issues = true;
  std::function<void()> on_write;        // before each write of the agent is done
  std::int64_t longest = 1'000'000'000;  // seconds, that the cluster lets a token live
  std::string owner;
  Duration look_every = minutes(10);
  Duration tick_every = minutes(1);
  testkit::Killable agent;
};

}  // namespace fleetadm::msa
