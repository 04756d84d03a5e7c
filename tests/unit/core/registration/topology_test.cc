// Where a member runs: what nodes say, and which labels of a person stay.
#include "core/registration/agent/topology.h"

#include <gtest/gtest.h>

#include "tests/support/node_sums.h"

namespace fleetadm::registration::agent {
namespace {

Json node(const std::string& provider, const std::string& region, const std::string& zone) {
  Json one{{"metadata", {{"name", "n"}, {"labels", {{std::string(kRegionLabel), region}, {std::string(kZoneLabel), zone}}}}},
           {"spec", {{"providerID", provider}}},
           {"status", {{"allocatable", {{"cpu", "1"}}}}}};
  project_placed_node(one);
  return one;
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs claims_of(const Topology& topology, std::vector<Claim> claims = {}) {
  add_topology_claims(topology, claims);
  Pairs pairs;
  for (const auto& claim : claims) pairs.emplace_back(claim.name, claim.value);
  return pairs;
}

Json cluster_with(const Json& labels, const Pairs& claims = {}) {
  Json one{{"metadata", {{"name", "c1"}, {"labels", labels}}}, {"status", {{"clusterClaims", Json::array()}}}};
  for (const auto& [name, value] : claims) one["status"]["clusterClaims"].push_back({{"name", name}, {"value", value}});
  return one;
}

TEST(Topology, NodesTellProviderRegionAndZones) {
  const Topology topology = testkit::sum_of<Topology>({node("aws:///eu-west-1b/i-1", "eu-west-1", "eu-west-1b"),
                                                       node("aws:///x/i-2", "eu-west-1", "eu-west-1a"), node("", "", ""),
                                                       node("nonsense", "no label!", "a/b")});
  EXPECT_EQ(claims_of(topology), (Pairs{{"provider.fleetadm.io", "aws"},
                                        {"region.fleetadm.io", "eu-west-1"},
                                        {"zones.fleetadm.io", "eu-west-1a,eu-west-1b"}}));
  EXPECT_EQ(
      claims_of(topology, {{"region.fleetadm.io", "mine"}}),
      (Pairs{{"region.fleetadm.io", "mine"}, {"provider.fleetadm.io", "aws"}, {"zones.fleetadm.io", "eu-west-1a,eu-west-1b"}}))
      << "what the member claims itself counts";
  EXPECT_TRUE(claims_of(testkit::sum_of<Topology>({})).empty());
}

TEST(Topology, LabelsFollowTheClaims) {
  const Topology first = testkit::sum_of<Topology>({node("gce://p/z/i", "eu", "eu-a")});
  EXPECT_EQ(
      changed_labels(cluster_with(Json::object()), first),
      (Json{{"fleetadm.io/provider", "gce"}, {"topology.kubernetes.io/region", "eu"}, {"topology.kubernetes.io/zone", "eu-a"}}));
  const Pairs told{{"provider.fleetadm.io", "gce"}, {"region.fleetadm.io", "eu"}, {"zones.fleetadm.io", "eu-a"}};
  const Json labels{
      {"fleetadm.io/provider", "gce"}, {"topology.kubernetes.io/region", "eu"}, {"topology.kubernetes.io/zone", "eu-a"}};
  EXPECT_TRUE(changed_labels(cluster_with(labels, told), first).is_null());
  const Topology wider = testkit::sum_of<Topology>({node("gce://p/z/i", "eu", "eu-a"), node("gce://p/z/j", "eu", "eu-b")});
  EXPECT_EQ(changed_labels(cluster_with(labels, told), wider), (Json{{"topology.kubernetes.io/zone", nullptr}}))
      << "a cluster in two zones is in none of them alone";
}

TEST(Topology, WhatAPersonSaysStays) {
  const Topology now = testkit::sum_of<Topology>({node("", "us", "")});
  EXPECT_TRUE(changed_labels(cluster_with({{"topology.kubernetes.io/region", "home"}}), now).is_null());
  EXPECT_TRUE(
      changed_labels(cluster_with({{"topology.kubernetes.io/region", "home"}}, {{"region.fleetadm.io", "eu"}}), now).is_null());
  EXPECT_TRUE(changed_labels(cluster_with(Json::object(), {{"region.fleetadm.io", "us"}}), now).is_null())
      << "taken away by a person";
  EXPECT_EQ(changed_labels(cluster_with({{"topology.kubernetes.io/region", "eu"}}, {{"region.fleetadm.io", "eu"}}), now),
            (Json{{"topology.kubernetes.io/region", "us"}}));
}

}  // namespace
}  // namespace fleetadm::registration::agent
