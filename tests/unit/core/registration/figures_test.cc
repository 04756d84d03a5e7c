// What pods hold, by hand: as the scheduler counts it.
#include "core/registration/agent/figures.h"

#include <gtest/gtest.h>

#include "kubeclient/rest/resource.h"
#include "tests/support/node_sums.h"

namespace fleetadm::registration::agent {
namespace {

Json container(const Json& requests, bool sidecar = false) {
  Json one{{"resources", {{"requests", requests}}}};
  if (sidecar) one["restartPolicy"] = "Always";
  return one;
}

Json pod_of(const std::string& name, Json spec, const std::string& phase = "Running") {
  return {{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", name}, {"resourceVersion", "1"}}},
          {"spec", std::move(spec)},
          {"status", {{"phase", phase}}}};
}

std::string text_of(const Quantities& amounts) {
  std::string text;
  for (const auto& [name, amount] : amounts) text += (text.empty() ? "" : " ") + name + "=" + amount.to_string();
  return text;
}

kube::CachedPtr cached(Json pod) {
  project_pod(pod);
  return std::make_shared<kube::CachedObject>(kube::object_key(pod), pod);
}

TEST(ClusterFigures, ContainersTogetherOrTheLargestInitContainer) {
  EXPECT_EQ(
      text_of(requests_of(
          {{"spec",
            {{"containers", Json::array({container({{"cpu", "500m"}, {"memory", "1Gi"}}), container({{"cpu", "250m"}})})}}}})),
      "cpu=750m memory=1Gi");
  EXPECT_EQ(text_of(requests_of({{"spec",
                                  {{"containers", Json::array({container({{"cpu", "100m"}})})},
                                   {"initContainers", Json::array({container({{"cpu", "2"}}), container({{"cpu", 3}})})}}}})),
            "cpu=3");
}

TEST(ClusterFigures, SidecarsRunBesideAll) {
  EXPECT_EQ(text_of(requests_of(
                {{"spec",
                  {{"containers", Json::array({container({{"cpu", "1"}})})},
                   {"initContainers", Json::array({container({{"cpu", "500m"}}, true), container({{"cpu", "2"}})})}}}})),
            "cpu=2500m");
}

TEST(ClusterFigures, OverheadComesOnTopAndExtendedResourcesCount) {
  EXPECT_EQ(text_of(requests_of({{"spec",
                                  {{"containers", Json::array({container({{"cpu", "1"}, {"nvidia.com/gpu", "2"}})})},
                                   {"overhead", {{"cpu", "250m"}, {"memory", "120Mi"}}}}}})),
            "cpu=1250m memory=120Mi nvidia.com/gpu=2");
}

TEST(ClusterFigures, WhatIsSaidOfThePodAsAWholeCounts) {
  EXPECT_EQ(text_of(requests_of({{"spec",
                                  {{"resources", {{"requests", {{"cpu", "4"}, {"example.com/x", "1"}}}}},
                                   {"containers", Json::array({container({{"cpu", "1"}, {"memory", "1Gi"}})})}}}})),
            "cpu=4 memory=1Gi");
}

TEST(ClusterFigures, SumsFollowPodsAsTheyComeChangeAndGo) {
  PodSums sums;
  const Json one{{"containers", Json::array({container({{"cpu", "500m"}})})}};
  Json placed = one;
  placed["nodeName"] = "n1";
  const auto waiting = cached(pod_of("a", one, "Pending"));
  const auto running = cached(pod_of("a", placed));
  const auto ended = cached(pod_of("a", placed, "Succeeded"));
  // The live example: one pod of 500m, and one of 100m whose init containers have 2 and 3 CPU.
  const auto other =
      cached(pod_of("b", {{"nodeName", "n1"},
                          {"containers", Json::array({container({{"cpu", "100m"}})})},
                          {"initContainers", Json::array({container({{"cpu", "2"}}), container({{"cpu", "3"}})})}}));
  sums.take(nullptr, waiting);
  EXPECT_EQ(text_of(sums.sums().allocating), "cpu=500m pods=1");
  EXPECT_EQ(text_of(sums.sums().allocated), "");
  sums.take(waiting, running);
  sums.take(nullptr, other);
  EXPECT_EQ(text_of(sums.sums().allocating), "");
  EXPECT_EQ(text_of(sums.sums().allocated), "cpu=3500m pods=2");
  sums.take(running, ended);
  EXPECT_EQ(text_of(sums.sums().allocated), "cpu=3 pods=1");
  sums.take(other, nullptr);
  sums.take(ended, nullptr);
  EXPECT_EQ(text_of(sums.sums().allocated), "");
}

TEST(ClusterFigures, PodsThatAskForMoreThanThereIsLeaveNothingBehind) {
  PodSums sums;
  std::vector<kube::CachedPtr> pods;
  for (const char* name : {"a", "b", "c"})
    pods.push_back(cached(pod_of(name, {{"containers", Json::array({container({{"cpu", "1e30"}})})}}, "Pending")));
  for (const auto& pod : pods) sums.take(nullptr, pod);
  EXPECT_EQ(text_of(sums.sums().allocating), "cpu=27670116110564327421 pods=3");
  for (const auto& pod : pods) sums.take(pod, nullptr);
  EXPECT_EQ(text_of(sums.sums().allocating), "");
}

TEST(ClusterFigures, AreWrittenWhereNobodyElseWrites) {
  Json status{{"capacity", {{"cpu", "8"}, {"allocated.fleetadm.io/example.com/gone", "1"}, {"others.example.com/x", "1"}}}};
  write_figures({3, 2}, {{{"cpu", *Quantity::parse("3500m")}, {"pods", Quantity::from_int(2)}}, {}}, status);
  EXPECT_EQ(status["capacity"], Json({{"cpu", "8"},
                                      {"others.example.com/x", "1"},
                                      {"nodes.fleetadm.io/total", "3"},
                                      {"nodes.fleetadm.io/ready", "2"},
                                      {"allocated.fleetadm.io/cpu", "3500m"},
                                      {"allocated.fleetadm.io/pods", "2"}}));
}

TEST(ClusterFigures, NodesAreCountedWithTheirReadiness) {
  std::vector<Json> nodes;
  for (const char* status : {"True", "False", "Unknown"}) {
    nodes.push_back(
        {{"metadata", {{"name", status}}}, {"status", {{"conditions", Json::array({{{"type", "Ready"}, {"status", status}}})}}}});
    project_counted_node(nodes.back());
  }
  const NodeCount count = testkit::sum_of<NodeCount>(nodes);
  EXPECT_EQ(count.total, 3);
  EXPECT_EQ(count.ready, 1);
}

}  // namespace
}  // namespace fleetadm::registration::agent
