#include "core/sandbox/controllers/owners.h"

#include <gtest/gtest.h>

namespace fleetadm::sandbox {
namespace {

Json object(const std::string& uid, const std::vector<std::string>& owners = {}) {
  Json out = {{"metadata", {{"uid", uid}, {"ownerReferences", Json::array()}}}};
  for (const auto& owner : owners) out["metadata"]["ownerReferences"].push_back({{"uid", owner}});
  return out;
}
const ObjectKey kOwner{"/configmaps", "n", "owner"};
const ObjectKey kOwned{"/configmaps", "n", "owned"};

TEST(OwnerGraph, TellsDependentsThatTheirOwnerIsGone) {
  OwnerGraph graph;
  EXPECT_TRUE(graph.written(kOwner, object("u1")).empty());
  EXPECT_EQ(graph.written(kOwned, object("u2", {"u1"})), std::set<ObjectKey>{kOwned});
  EXPECT_TRUE(view_of(graph, kOwned, object("u2", {"u1"})).absent_owners.empty());
  EXPECT_EQ(graph.removed(kOwner), std::set<ObjectKey>{kOwned});
  EXPECT_EQ(view_of(graph, kOwned, object("u2", {"u1"})).absent_owners, std::set<std::string>{"u1"});
}

TEST(OwnerGraph, TellsAnOwnerThatItsDependentIsGone) {
  OwnerGraph graph;
  graph.written(kOwner, object("u1"));
  graph.written(kOwned, object("u2", {"u1"}));
  EXPECT_EQ(graph.removed(kOwned), std::set<ObjectKey>{kOwner});
  EXPECT_TRUE(graph.dependents("u1").empty());
}

TEST(OwnerGraph, OwnersAreOfTheSameNamespaceOrOfNone) {
  OwnerGraph graph;
  graph.written({"/configmaps", "other", "owner"}, object("u1"));
  graph.written({"/namespaces", "", "x"}, object("u3"));
  EXPECT_FALSE(graph.exists("u1", "n"));
  EXPECT_TRUE(graph.exists("u1", "other"));
  EXPECT_TRUE(graph.exists("u3", "n"));
}

TEST(OwnerGraph, AnObjectMadeAnewIsAnotherOwner) {
  OwnerGraph graph;
  graph.written(kOwner, object("u1"));
  graph.written(kOwned, object("u2", {"u1"}));
  EXPECT_TRUE(graph.written(kOwner, object("u9")).contains(kOwned));
  EXPECT_FALSE(graph.exists("u1", "n"));
}

}  // namespace
}  // namespace fleetadm::sandbox
