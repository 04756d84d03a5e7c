#include <atomic>
#include <gtest/gtest.h>
#include <mutex>
#include <set>
#include <thread>

#include "core/controller/controller.h"
#include "core/controller/worker_pool.h"
#include "tests/support/fake_api.h"

namespace fleetadm::controller {
namespace {

using namespace std::chrono_literals;
using testkit::FakeApi;

bool eventually(const std::function<bool()>& done, Duration most = 10s) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

Json config_map(const char* name, const char* value) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}, {"namespace", "ns"}}},
          {"data", {{"group", value}}}};
}

class ManagerTest : public testing::Test {
 public:
  std::shared_ptr<FakeApi> api = FakeApi::make();
  std::mutex mutex;
  std::multiset<std::string> seen;
  Reconcile note = [this](const std::string& key, std::stop_token) -> Result<Outcome> {
    const std::lock_guard lock(mutex);
    seen.insert(key);
    return Outcome{};
  };
  bool saw(const std::string& key) {
    const std::lock_guard lock(mutex);
    return seen.count(key) > 0;
  }
  void forget() {
    const std::lock_guard lock(mutex);
    seen.clear();
  }
};

TEST_F(ManagerTest, InformersFeedQueuesAndReconcilesSeeSyncedCaches) {
  api->put(kube::resources::config_maps(), config_map("a", "x"));
  Manager manager({});
  const auto informer = manager.informer(api->client(), kube::resources::config_maps());
  std::atomic<int> unsynced{0};
  ControllerOptions options;
  options.name = "test";
  const auto queue = manager.add(options, [&](const std::string& key, std::stop_token stop) -> Result<Outcome> {
    if (!informer->get(key)) ++unsynced;
    return note(key, stop);
  });
  Manager::enqueue_on(*informer, queue);
  std::jthread running([&](std::stop_token stop) { EXPECT_TRUE(manager.run(stop)); });
  EXPECT_TRUE(eventually([&] { return saw("ns/a"); }));
  api->put(kube::resources::config_maps(), config_map("b", "x"));
  EXPECT_TRUE(eventually([&] { return saw("ns/b"); }));
  EXPECT_EQ(unsynced, 0);
}

TEST_F(ManagerTest, WhatAnObjectBelongedToBeforeAChangeIsLookedAtToo) {
  api->put(kube::resources::config_maps(), config_map("a", "old"));
  Manager manager({});
  const auto informer = manager.informer(api->client(), kube::resources::config_maps());
  Manager::enqueue_on(*informer, manager.add({}, note), [](const kube::CachedObject& object) -> std::vector<std::string> {
    return {str(object.decode(), {"data", "group"})};
  });
  std::jthread running([&](std::stop_token stop) { EXPECT_TRUE(manager.run(stop)); });
  ASSERT_TRUE(eventually([&] { return saw("old"); }));
  forget();
  api->put(kube::resources::config_maps(), config_map("a", "new"));
  EXPECT_TRUE(eventually([&] { return saw("old") && saw("new"); }));
}

TEST_F(ManagerTest, InformersAreSharedWhereTheyAreTheSame) {
  Manager manager({});
  const kube::Client client = api->client();
  const auto plain = manager.informer(client, kube::resources::config_maps());
  EXPECT_EQ(plain, manager.informer(client, kube::resources::config_maps()));
  kube::InformerOptions other;
  other.label_selector = "a=b";
  EXPECT_NE(plain, manager.informer(client, kube::resources::config_maps(), other));
  kube::InformerOptions projected;
  projected.project = [](Json&) {};
  EXPECT_NE(plain, manager.informer(client, kube::resources::config_maps(), projected));
  EXPECT_NE(plain, manager.informer(client, kube::resources::secrets()));
  EXPECT_NE(plain, manager.informer(FakeApi::make()->client(), kube::resources::config_maps()));
}

TEST_F(ManagerTest, StopWhileTheServerRefusesIsNoErrorAndNothingIsReconciled) {
  api->fail_next("", "configmaps", 403, "Forbidden", 1000000);
  Manager::Options options;
  options.health_address = "127.0.0.1:0";
  Manager manager(options);
  const auto informer = manager.informer(api->client(), kube::resources::config_maps());
  ControllerOptions always;
  always.resync_keys = {"x"};
  manager.add(always, note);
  EXPECT_EQ(manager.health_endpoint(), "");
  ASSERT_TRUE(manager.serve_health());
  EXPECT_NE(manager.health_endpoint(), "");
  Status outcome = fail(Category::kInternal, "not run");
  std::jthread running([&](std::stop_token stop) { outcome = manager.run(stop); });
  EXPECT_TRUE(eventually([&] { return informer->last_error().has_value(); }));
  running.request_stop();
  running.join();
  EXPECT_TRUE(outcome) << outcome.error().message;
  EXPECT_FALSE(saw("x"));
}

TEST_F(ManagerTest, ManagersThatAreStartedOnAPoolTakeNoThreadAndStopApart) {
  api->put(kube::resources::config_maps(), config_map("a", "x"));
  const auto pool = std::make_shared<WorkerPool>(2);
  const auto make = [&](Reconcile reconcile) {
    auto manager = std::make_unique<Manager>(Manager::Options{.threads = 1, .health_address = {}, .pool = pool});
    const auto informer = manager->informer(api->client(), kube::resources::config_maps());
    ControllerOptions options;
    options.name = "test";
    Manager::enqueue_on(*informer, manager->add(options, std::move(reconcile)));
    return manager;
  };
  std::atomic<int> others{0};
  auto one = make(note);
  const auto other = make([&](const std::string&, std::stop_token) -> Result<Outcome> {
    ++others;
    return Outcome{};
  });
  EXPECT_TRUE(one->start());
  EXPECT_TRUE(other->start());
  EXPECT_TRUE(eventually([&] { return saw("ns/a") && others == 1; }));
  one->stop();
  forget();
  api->put(kube::resources::config_maps(), config_map("b", "x"));
  EXPECT_TRUE(eventually([&] { return others == 2; }));
  EXPECT_FALSE(saw("ns/b"));
  one.reset();
  api->put(kube::resources::config_maps(), config_map("c", "x"));
  EXPECT_TRUE(eventually([&] { return others == 3; }));
}

TEST_F(ManagerTest, AManagerIsStoppedBeforeItsCachesAreFilled) {
  const auto pool = std::make_shared<WorkerPool>(1);
  for (int i = 0; i < 50; ++i) {
    std::atomic<bool> gone{false};
    {
      Manager manager({.threads = 1, .health_address = {}, .pool = pool});
      static_cast<void>(manager.informer(api->client(), kube::resources::config_maps()));
      ControllerOptions options;
      options.name = "test";
      options.resync_keys = {"all"};
      manager.add(options, [&](const std::string&, std::stop_token) -> Result<Outcome> {
        EXPECT_FALSE(gone);
        return Outcome{};
      });
      EXPECT_TRUE(manager.start());
      manager.stop();
    }
    gone = true;
  }
}

TEST_F(ManagerTest, StartNeedsAPool) {
  Manager manager({});
  EXPECT_FALSE(manager.start());
}

}  // namespace
}  // namespace fleetadm::controller
