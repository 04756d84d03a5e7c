#include "core/sandbox/fleet/memory.h"

#include <features.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

#include "core/controller/metrics.h"
#include "core/sandbox/fleet/cluster.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/rest/client.h"
#include "tests/support/sanitizers.h"

namespace fleetadm::sandbox {
namespace {

#if defined(__GLIBC__)
TEST(SpareMemory, WhatABurstTookIsGivenBack) {
  FLEETADM_NEEDS_NO_SANITIZER();
  using Blocks = std::vector<std::unique_ptr<std::string>>;
  SpareMemory spare;
  spare.give_back();
  const auto before = controller::resident_bytes();
  constexpr std::size_t kThreads = 4;
  std::vector<Blocks> kept(kThreads);
  {
    std::vector<std::jthread> threads;
    for (auto& keep : kept) {
      threads.emplace_back([&keep] {
        Blocks burst;
        for (int i = 0; i < 40'000; ++i) burst.push_back(std::make_unique<std::string>(1'000, 'x'));
        // What stays at the end of a heap keeps all below it resident.
        for (std::size_t i = 0; i < burst.size(); i += 1'000) keep.push_back(std::move(burst[i]));
        keep.push_back(std::move(burst.back()));
      });
    }
  }
  const auto burst = controller::resident_bytes();
  ASSERT_GT(burst, before + 100'000'000);
  EXPECT_TRUE(spare.give_back());
  EXPECT_LT(controller::resident_bytes(), before + 20'000'000);
  EXPECT_FALSE(spare.give_back()) << "nothing has grown since";
}

TEST(SpareMemory, WhatIsFreedAfterALookIsGivenBackToo) {
  FLEETADM_NEEDS_NO_SANITIZER();
  SpareMemory spare;
  spare.give_back();
  const auto before = controller::resident_bytes();
  std::vector<std::unique_ptr<std::string>> kept;
  {
    std::vector<std::unique_ptr<std::string>> burst;
    for (int i = 0; i < 100'000; ++i) burst.push_back(std::make_unique<std::string>(1'000, 'x'));
    for (std::size_t i = 0; i < burst.size(); i += 1'000) kept.push_back(std::move(burst[i]));
    kept.push_back(std::move(burst.back()));
    EXPECT_FALSE(spare.give_back()) << "all of it is in use";
  }
  ASSERT_GT(controller::resident_bytes(), before + 80'000'000);
  EXPECT_TRUE(spare.give_back());
  EXPECT_LT(controller::resident_bytes(), before + 20'000'000);
}

#if __GLIBC_PREREQ(2, 33)
/// KiB that the heap has handed out.
std::size_t heap_in_use() {
  const auto heap = ::mallinfo2();
  return (heap.uordblks + heap.hblkhd) / 1024;
}

kube::RestConfig admin_of(const Cluster& cluster) {
  pki::LeafOptions leaf;
  leaf.subject = {"alice", {"system:masters"}, {}};
  leaf.client = true;
  const auto pair = pki::issue(cluster.ca(), leaf).value();
  kube::RestConfig config;
  config.server = cluster.url();
  config.ca_data = cluster.ca().certificate;
  config.credentials = kube::static_credentials({.client_certificate = pair.certificate, .client_key = pair.key});
  return config;
}

// A thousand clusters with nodes and agents are to fit into 2 GiB.
TEST(FleetMemory, AClusterAndAConnectionToItAreSmall) {
  FLEETADM_NEEDS_NO_SANITIZER();
  constexpr std::size_t kClusters = 20;
  serve::HttpRuntime runtime(2);
  std::vector<std::unique_ptr<Cluster>> clusters;
  std::vector<kube::Client> clients;
  const auto timers = std::make_shared<Timers>();
  const auto start = [&] {
    auto started = Cluster::start(runtime, {.name = "c" + std::to_string(clusters.size()), .timers = timers});
    ASSERT_TRUE(started) << started.error().message;
    clusters.push_back(std::move(*started));
    while (!clusters.back()->settled()) std::this_thread::yield();
  };
  const auto connect = [&](const Cluster& cluster) {
    clients.push_back(kube::Client::connect(admin_of(cluster)));
    ASSERT_TRUE(clients.back().get(kube::resources::namespaces(), "", "default"));
  };
  start();  // what all share is there from the first on
  connect(*clusters.front());
  const auto before = heap_in_use();
  while (clusters.size() <= kClusters) start();
  const auto started = heap_in_use();
  EXPECT_LT((started - before) / kClusters, 230U) << "KiB a cluster";
  for (std::size_t i = 1; i <= kClusters; ++i) connect(*clusters[i]);
  EXPECT_LT((heap_in_use() - started) / kClusters, 250U) << "KiB a connection, both ends";
  clients.clear();
  clusters.clear();
  runtime.stop();
}
#endif
#endif

}  // namespace
}  // namespace fleetadm::sandbox
