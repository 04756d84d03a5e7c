// The agent against a hub and a managed cluster in memory: what it writes, how often, and what it leaves alone.
#include <gtest/gtest.h>

#include "core/api/managed_service_account.h"
#include "core/msa/agent/health_lease.h"
#include "core/msa/rules/token_secret.h"
#include "kubeclient/base/encoding.h"
#include "tests/unit/core/msa/agent/account_agent_fixture.h"

namespace fleetadm::msa {
namespace {

TEST_F(AccountAgentTest, MakesAccountSecretAndStatusWithOneWriteEach) {
  declare();
  start();
  ASSERT_TRUE(eventually([&] { return good(); })) << dump_json(object());
  settle();
  EXPECT_EQ(label_of(account(), api::kManagedServiceAccountLabel), "true");
  EXPECT_EQ(secret()["data"]["ca.crt"], base64_encode("the authority"));
  EXPECT_EQ(tokens, 1);
  EXPECT_EQ(spoke->count("create", "serviceaccounts"), 2) << "the account and its token";
  EXPECT_EQ(hub->count("create", "secrets"), 1);
  EXPECT_EQ(hub->count("update", "secrets"), 0);
  EXPECT_EQ(hub->count("patch", "managedserviceaccounts"), 2) << "that of the marker as well";
  EXPECT_EQ(hub->count("list", "secrets"), 0);
  EXPECT_EQ(hub->count("watch", "secrets"), 0);
  for (const auto& api : {hub, spoke}) {
    for (const auto& call : api->writes()) EXPECT_LT(call.status, 300) << call.verb << " " << call.path;
  }
}

TEST_F(AccountAgentTest, RestartedWritesNothing) {
  declare();
  start();
  ASSERT_TRUE(eventually([&] { return good(); }));
  agent.stop();
  hub->forget_calls();
  spoke->forget_calls();
  start();
  ASSERT_TRUE(eventually([&] { return hub->count("get", "secrets") > 0; }));
  settle();
  EXPECT_EQ(hub->write_count(), 1) << "the marker's";
  EXPECT_EQ(spoke->write_count(), 0);
}

TEST_F(AccountAgentTest, RefreshesOnceAfterFourFifthsOfTheRealLifetime) {
  longest = 600;  // of the hour that is asked for
  declare();
  start();
  ASSERT_TRUE(eventually([&] { return good(); }));
  const auto touch = [&] {  // an event
    Json one = object();
    at_or_make(one, {"metadata", "annotations", "touched"}) = format_time(clock->now());
    hub->put(api::managed_service_accounts(), one);
    settle();
  };
  clock->advance(minutes(7));
  touch();
  EXPECT_EQ(tokens, 1);
  clock->advance(minutes(1));
  hub->forget_calls();
  touch();
  ASSERT_TRUE(eventually([&] { return tokens == 2 && good(); }));
  touch();
  EXPECT_EQ(tokens, 2);
  EXPECT_EQ(hub->count("update", "secrets"), 1);
  EXPECT_EQ(hub->count("patch", "managedserviceaccounts"), 1 + 2) << "two are the markers'";
  EXPECT_EQ(str(object(), {"status", "tokenSecretRef", "lastRefreshTimestamp"}), "2026-03-01T10:08:00Z");
}

TEST_F(AccountAgentTest, ANewAccountOfThatNameGetsANewTokenAtOnce) {
  declare();
  start();
  ASSERT_TRUE(eventually([&] { return good(); }));
  const std::string first = uid_of(account());
  spoke->erase(res::service_accounts(), kNs, "app");
  ASSERT_TRUE(eventually([&] { return account().is_object() && uid_of(account()) != first && good(); }));
  settle();
  EXPECT_EQ(tokens, 2);
}

TEST_F(AccountAgentTest, MendsTheSecret) {
  declare();
  start();
  ASSERT_TRUE(eventually([&] { return good(); }));
  const auto look = [&] {  // as the timer does
    agent.stop();
    start();
  };
  for (const char* broken : {"not a token", "", "e30.e30.e30"}) {
    Json changed = secret();
    changed["data"]["token"] = base64_encode(broken);
    hub->put(res::secrets(), changed);
    look();
    ASSERT_TRUE(eventually([&] { return good(); })) << broken;
  }
  EXPECT_EQ(tokens, 4);
  Json changed = secret();
  changed["data"] = {{"token", secret()["data"]["token"]}, {"ca.crt", "b2xk"}, {"more", "eA=="}};
  changed["metadata"].erase("ownerReferences");
  changed["metadata"]["labels"]["mine"] = "x";
  hub->put(res::secrets(), changed);
  look();
  ASSERT_TRUE(eventually([&] { return secret()["data"]["ca.crt"] == base64_encode("the authority"); }));
  EXPECT_EQ(secret()["data"].size(), 2U);
  EXPECT_EQ(list_at(secret(), {"metadata", "ownerReferences"}).size(), 1U);
  EXPECT_EQ(label_of(secret(), "mine"), "x") << "other labels stay";
  hub->erase(res::secrets(), "c1", "app");
  look();
  ASSERT_TRUE(eventually([&] { return good(); }));
  EXPECT_EQ(tokens, 5) << "what keeps its token needs no new one";
}

// Nobody tells of a Secret: one of them is read now and then, each in its turn.
TEST_F(AccountAgentTest, FindsInItsTurnASecretThatSomebodyDeletedOrBroke) {
  tick_every = std::chrono::milliseconds(5);
  for (const char* name : {"app", "bpp", "cpp"}) declare({{"rotation", {{"validity", "240h"}}}}, name);
  start();
  ASSERT_TRUE(eventually([&] { return tokens == 3 && good(); }));
  settle();
  const int before = hub->count("get", "secrets");
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  EXPECT_EQ(hub->count("get", "secrets"), before) << "at rest, by the clock that stands still, nothing is read";
  hub->erase(res::secrets(), "c1", "app");
  Json broken = secret("cpp");
  broken["data"]["token"] = "eA==";
  hub->put(res::secrets(), broken);
  const auto all_good = [&] { return good() && claims_for(secret("cpp"), uid_of(account("cpp"))); };
  for (int turn = 0; turn < 12 && !all_good(); ++turn) {
    clock->advance(minutes(10));
    eventually(all_good, std::chrono::milliseconds(100));
  }
  EXPECT_TRUE(all_good());
  EXPECT_EQ(tokens, 5);
}

TEST_F(AccountAgentTest, WhatTheClockMakesDueIsDoneThoughItJumps) {
  tick_every = std::chrono::milliseconds(5);
  declare();
  start();
  ASSERT_TRUE(eventually([&] { return good(); }));
  settle();
  clock->advance(minutes(47));
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  EXPECT_EQ(tokens, 1);
  clock->advance(minutes(2));
  EXPECT_TRUE(eventually([&] { return tokens == 2 && good(); })) << "no event came";
  clock->set(*parse_time("2026-03-01T09:00:00Z"));  // and back
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  EXPECT_LE(tokens, 3);
  EXPECT_TRUE(good());
}

TEST_F(AccountAgentTest, ManyAtRestCostNoRequest) {
  tick_every = std::chrono::milliseconds(5);
  for (int i = 0; i < 300; ++i) declare({{"rotation", {{"validity", "1h"}}}}, "many" + std::to_string(i));
  start();
  ASSERT_TRUE(eventually([&] { return hub->count("patch", "managedserviceaccounts") == 300; }, seconds(60)));
  settle();
  hub->forget_calls();
  spoke->forget_calls();
  for (int i = 0; i < 9; ++i) {
    clock->advance(minutes(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(hub->calls().empty()) << hub->calls().front().path;
  EXPECT_TRUE(spoke->calls().empty());
}

TEST_F(AccountAgentTest, LeavesItToTheHubToEndAnObjectWhereItMayNot) {
  Json made = declare({{"rotation", {{"validity", "1h"}}}, {"ttlSecondsAfterCreation", 1}});
  made["metadata"]["creationTimestamp"] = "2026-03-01T09:59:30Z";
  hub->put(api::managed_service_accounts(), made);
  hub->fail_next("delete", "managedserviceaccounts", 403, "Forbidden", 1000);
  start();
  ASSERT_TRUE(eventually([&] { return hub->count("delete", "managedserviceaccounts") == 1; }));
  settle();
  EXPECT_EQ(hub->count("delete", "managedserviceaccounts"), 1) << "it is not tried again at once";
  EXPECT_EQ(tokens, 0);
}

TEST_F(AccountAgentTest, DoesNotDeleteWhatItsCacheAloneHasStill) {
  Json made = declare({{"rotation", {{"validity", "1h"}}}, {"ttlSecondsAfterCreation", 1}});
  made["metadata"]["creationTimestamp"] = "2026-03-01T09:59:30Z";
  hub->put(api::managed_service_accounts(), made);
  hub->fail_next("get", "managedserviceaccounts", 404, "NotFound", 1000);
  start();
  ASSERT_TRUE(eventually([&] { return hub->count("get", "managedserviceaccounts") > 0; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(hub->count("delete", "managedserviceaccounts"), 0);
}

TEST_F(AccountAgentTest, LeavesAloneWhatIsNotItsOwn) {
  Json foreign{{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "app"}, {"namespace", kNs}}}};
  spoke->put(res::service_accounts(), foreign);
  declare();
  start();
  ASSERT_TRUE(eventually([&] { return !message().empty(); }));
  EXPECT_NE(message().find("ServiceAccount open-cluster-management-agent-addon/app of the managed cluster exists"),
            std::string::npos)
      << message();
  EXPECT_EQ(tokens, 0);
  EXPECT_TRUE(secret().is_null());
  hub->erase(api::managed_service_accounts(), "c1", "app");
  settle();
  EXPECT_TRUE(account().is_object()) << "it stays when the object goes";
  spoke->erase(res::service_accounts(), kNs, "app");

  hub->put(res::secrets(), {{"apiVersion", "v1"},
                            {"kind", "Secret"},
                            {"type", "Opaque"},
                            {"metadata", {{"name", "app"}, {"namespace", "c1"}}},
                            {"data", {{"password", "eA=="}}}});
  declare();
  ASSERT_TRUE(eventually([&] { return message().find("Secret c1/app exists") == 0; })) << message();
  EXPECT_EQ(secret()["data"], (Json{{"password", "eA=="}}));
  EXPECT_EQ(tokens, 0);
}

TEST_F(AccountAgentTest, AValidityThatCannotBeIsSaidOnceAndNobodyIsAsked) {
  start();
  for (const char* validity : {"0", "-5m", "1m0s", "soon", "2000000h"}) {
    declare({{"rotation", {{"validity", validity}}}});
    ASSERT_TRUE(eventually([&] { return message().find("spec.rotation.validity \"" + std::string(validity)) == 0; })) << validity;
  }
  settle();
  hub->forget_calls();
  settle();
  EXPECT_EQ(hub->count("patch", "managedserviceaccounts"), 1) << "the marker's";
  EXPECT_EQ(spoke->write_count(), 0);
  declare({{"rotation", {{"validity", "876000h"}}}});
  EXPECT_TRUE(eventually([&] { return good(); })) << "100 years";
}

TEST_F(AccountAgentTest, ARefusalOfTheClusterIsSaidAndNotRepeatedAtOnce) {
  spoke->fail_next("create", "serviceaccounts", 403, "Forbidden", 1000);
  declare();
  start();
  ASSERT_TRUE(eventually([&] { return message().find("cannot create ServiceAccount") == 0; })) << message();
  settle();
  EXPECT_LE(spoke->count("create", "serviceaccounts"), 2) << "once, and once for the event of the status";
}

TEST_F(AccountAgentTest, TheAccountGoesWithTheObjectAlsoIfTheAgentWasAway) {
  declare();
  start();
  ASSERT_TRUE(eventually([&] { return good(); }));
  hub->erase(api::managed_service_accounts(), "c1", "app");
  hub->erase(res::secrets(), "c1", "app");  // the garbage collector
  ASSERT_TRUE(eventually([&] { return account().is_null(); }));
  settle();
  EXPECT_TRUE(secret().is_null());
  EXPECT_EQ(tokens, 1);

  declare();
  ASSERT_TRUE(eventually([&] { return good(); }));
  agent.stop();
  hub->erase(api::managed_service_accounts(), "c1", "app");
  start();
  EXPECT_TRUE(eventually([&] { return account().is_null(); }));
}

TEST_F(AccountAgentTest, MakesNoTokenForAnObjectThatIsGoneThoughTheCacheHasIt) {
  declare();
  start();
  ASSERT_TRUE(eventually([&] { return good(); }));
  // Its deletion is seen by a read, and not yet by the watch; the garbage collector was faster.
  const auto gone = std::make_shared<std::atomic<bool>>(false);
  hub->on_request([gone](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (!*gone || call.verb != "get" || call.plural != "managedserviceaccounts") return std::nullopt;
    kube::Response response;
    response.status = 404;
    response.body = dump_json({{"kind", "Status"},
                               {"status", "Failure"},
                               {"code", 404},
                               {"reason", "NotFound"},
                               {"details", {{"name", call.name}, {"kind", call.plural}}}});
    return response;
  });
  *gone = true;
  hub->erase(res::secrets(), "c1", "app");
  spoke->erase(res::service_accounts(), kNs, "app");
  ASSERT_TRUE(eventually([&] { return account().is_object(); })) << "the cache still has the object";
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(tokens, 1);
  EXPECT_TRUE(secret().is_null());
  hub->on_request({});
}

TEST_F(AccountAgentTest, DeletesWhatHasOnlySoLongToLive) {
  Json made = declare({{"rotation", {{"validity", "1h"}}}, {"ttlSecondsAfterCreation", 60}});
  made["metadata"]["creationTimestamp"] = "2026-03-01T09:59:30Z";
  hub->put(api::managed_service_accounts(), made);
  start();
  ASSERT_TRUE(eventually([&] { return good(); }));
  clock->advance(seconds(31));
  made = object();
  made["metadata"]["annotations"] = {{"touched", "x"}};
  hub->put(api::managed_service_accounts(), made);
  EXPECT_TRUE(eventually([&] { return object().is_null() && account().is_null(); }));
}

TEST_F(AccountAgentTest, AccountsBelongToTheAgentsOwnAndNoneIsMadeWithoutIt) {
  owner = "managed-serviceaccount";
  const Json own{{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", owner}, {"namespace", kNs}}}};
  const std::string uid = uid_of(spoke->put(res::service_accounts(), own));
  declare();
  start();
  ASSERT_TRUE(eventually([&] { return good(); }));
  const Json made = account();
  ASSERT_EQ(list_at(made, {"metadata", "ownerReferences"}).size(), 1U);
  EXPECT_EQ(str(made["metadata"]["ownerReferences"][0], {"uid"}), uid);
  // The add-on is removed: the garbage collector takes the account while the agent still runs.
  spoke->erase(res::service_accounts(), kNs, owner);
  spoke->erase(res::service_accounts(), kNs, "app");
  const int before = spoke->count("get", "serviceaccounts");
  ASSERT_TRUE(eventually([&] { return spoke->count("get", "serviceaccounts") > before + 4; }));
  EXPECT_TRUE(account().is_null());
  EXPECT_EQ(message(), "") << "it is not the object's fault";
}

TEST_F(AccountAgentTest, KeepsALeaseIfItIsAskedTo) {
  agent.start([this](controller::Manager& manager, const std::shared_ptr<kube::WriteGate>& gate) {
    add_health_lease(manager, spoke->client(gate), kNs, clock);
  });
  const auto renewed = [&] {
    return str(spoke->get(res::leases(), kNs, "managed-serviceaccount").value_or(Json()), {"spec", "renewTime"});
  };
  ASSERT_TRUE(eventually([&] { return renewed() == "2026-03-01T10:00:00.000000Z"; }));
  clock->advance(minutes(1));
  agent.stop();
  agent.start([this](controller::Manager& manager, const std::shared_ptr<kube::WriteGate>& gate) {
    add_health_lease(manager, spoke->client(gate), kNs, clock);
  });
  EXPECT_TRUE(eventually([&] { return renewed() == "2026-03-01T10:01:00.000000Z"; }));
}

}  // namespace
}  // namespace fleetadm::msa
