// The agent that is killed, and the objects that somebody changes under it: the end is the same.
#include <algorithm>
#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/core/msa/agent/account_agent_fixture.h"

namespace fleetadm::msa {
namespace {

// Killed after each of its writes, and started again: the same end, with at most one token more.
TEST_F(AccountAgentTest, KilledAfterEveryWriteTheEndIsTheSame) {
  for (int writes = 0; writes <= 4; ++writes) {
    make();
    declare();
    start(writes);
    ASSERT_TRUE(eventually([&] { return agent.writes() >= writes; })) << writes;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    start();
    ASSERT_TRUE(eventually([&] { return good(); })) << writes;
    settle();
    EXPECT_LE(tokens, 2) << writes;
    EXPECT_EQ(spoke->all(res::service_accounts()).size(), 1U);
    EXPECT_EQ(hub->all(res::secrets()).size(), 1U);
    // And on the way out.
    start(0);
    hub->erase(api::managed_service_accounts(), "c1", "app");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    start();
    ASSERT_TRUE(eventually([&] { return account().is_null(); })) << writes;
  }
}

// Whatever somebody does by hand, before whichever write of the agent: the same end, in time.
TEST_F(AccountAgentTest, WhateverIsDeletedOrChangedByHandAtAnyPointTheEndIsTheSame) {
  tick_every = std::chrono::milliseconds(5);
  const Json new_account{
      {"apiVersion", "v1"},
      {"kind", "ServiceAccount"},
      {"metadata", {{"name", "app"}, {"namespace", kNs}, {"labels", {{std::string(api::kManagedServiceAccountLabel), "true"}}}}}};
  const std::vector<std::pair<const char*, std::function<void()>>> deeds{
      {"Secret deleted", [&] { hub->erase(res::secrets(), "c1", "app"); }},
      {"Secret broken",
       [&] {
         Json broken = secret();
         if (broken.is_null()) return;
         broken["data"] = {{"token", "eA=="}};
         hub->put(res::secrets(), broken);
       }},
      {"account deleted", [&] { spoke->erase(res::service_accounts(), kNs, "app"); }},
      {"account replaced",
       [&] {
         spoke->erase(res::service_accounts(), kNs, "app");
         spoke->put(res::service_accounts(), new_account);
       }},
      {"object replaced",
       [&] {
         hub->erase(api::managed_service_accounts(), "c1", "app");
         declare();
       }},
      {"status emptied", [&] {
         Json emptied = object();
         if (emptied.is_null()) return;
         emptied["status"] = Json::object();
         hub->put(api::managed_service_accounts(), emptied);
       }}};
  for (const auto& [deed, act] : deeds) {
    for (int point = 1; point <= 5; ++point) {
      SCOPED_TRACE(std::string(deed) + " before write " + std::to_string(point));
      agent.stop();
      on_write = nullptr;
      make();
      std::atomic<int> writes = 0;
      on_write = [&writes, point, &act = act] {
        if (++writes == point) act();
      };
      declare();
      start();
      // The fifth write is never made where nothing is wrong.
      ASSERT_TRUE(eventually([&] { return writes >= std::min(point, 4); }));
      if (point == 5 && writes < 5) {
        ASSERT_TRUE(eventually([&] { return good(); }));
        act();
      }
      ASSERT_TRUE(eventually([&] {
        if (good()) return true;
        clock->advance(minutes(1));
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return good();
      })) << dump_json(object())
          << dump_json(secret());
      EXPECT_EQ(secret()["metadata"]["ownerReferences"][0]["uid"], uid_of(object()));
      EXPECT_EQ(spoke->all(res::service_accounts()).size(), 1U);
    }
  }
  agent.stop();
  on_write = nullptr;
}

}  // namespace
}  // namespace fleetadm::msa
