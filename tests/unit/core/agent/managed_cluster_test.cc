// The cluster as the agent writes it on the hub, and its namespaces that the hub names.
#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "core/registration/agent/cluster.h"
#include "core/registration/agent/namespaces.h"
#include "tests/support/fake_api.h"
#include "tests/unit/core/agent/accepted_cluster.h"

namespace fleetadm::registration::agent {
namespace {

using std::chrono::minutes;
using testkit::FakeApi;

TEST(Namespaces, AreMarkedUnmarkedAndNeverDeleted) {
  const auto spoke = FakeApi::make();
  const std::string label = managed_namespace_label("https://hub");
  const auto mark = [&](const char* name) {
    const auto found = spoke->get(kube::resources::namespaces(), {}, name);
    return found ? label_of(*found, label) : "absent";
  };
  ManagedNamespaces namespaces(spoke->client(), "https://hub");
  Json cluster = accepted();
  cluster["status"]["managedNamespaces"] =
      Json::array({{{"name", "a"}, {"clusterSet", "s"}}, {{"name", "b"}, {"clusterSet", "s"}}});
  FakeClock clock(parse_time("2026-11-21T18:00:00Z").value());
  ASSERT_TRUE(namespaces.apply(cluster, clock.now()));
  EXPECT_EQ(mark("a"), "true");
  EXPECT_EQ(mark("b"), "true");

  spoke->forget_calls();
  clock.advance(minutes(1));
  ASSERT_TRUE(namespaces.apply(cluster, clock.now()));
  EXPECT_TRUE(spoke->calls().empty());  // nothing changed: nobody is asked

  cluster["status"]["managedNamespaces"].erase(1);
  ASSERT_TRUE(namespaces.apply(cluster, clock.now()));
  EXPECT_EQ(mark("a"), "true");
  EXPECT_EQ(mark("b"), "false");

  cluster["metadata"]["deletionTimestamp"] = "2026-11-21T18:00:00Z";
  ASSERT_TRUE(namespaces.apply(cluster, clock.now()));
  EXPECT_EQ(mark("a"), "false");
  EXPECT_EQ(spoke->count("delete"), 0);
}

TEST(Namespaces, WhereNoneIsListedTheClusterIsAskedOnce) {
  const auto spoke = FakeApi::make();
  ManagedNamespaces namespaces(spoke->client(), "https://hub");
  FakeClock clock(parse_time("2026-11-21T18:00:00Z").value());
  ASSERT_TRUE(namespaces.apply(accepted(), clock.now()));
  EXPECT_EQ(spoke->count("list", "namespaces"), 1) << "some may be left of another time";
  clock.advance(minutes(60));
  ASSERT_TRUE(namespaces.apply(accepted(), clock.now()));
  EXPECT_EQ(spoke->count("list", "namespaces"), 1);
}

TEST(Namespaces, AFailureIsToldAndTriedAgain) {
  const auto spoke = FakeApi::make();
  ManagedNamespaces namespaces(spoke->client(), "https://hub");
  Json cluster = accepted();
  cluster["status"]["managedNamespaces"] = Json::array({{{"name", "a"}, {"clusterSet", "s"}}});
  spoke->fail_next("patch", "namespaces", 403, "Forbidden");
  FakeClock clock(parse_time("2026-11-21T18:00:00Z").value());
  const auto first = namespaces.apply(cluster, clock.now());
  ASSERT_TRUE(first);
  ASSERT_EQ(first->size(), 1U);
  EXPECT_EQ(first->front().name, "a");
  const auto second = namespaces.apply(cluster, clock.now());
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->empty());
}

TEST(Registration, LabelsAreThoseOfTheFirstDay) {
  const auto hub = FakeApi::make();
  ClusterOptions options;
  options.name = "c1";
  options.labels = {{"env", "prod"}};
  options.annotations = {{"agent.open-cluster-management.io/owner", "a"}, {"other", "b"}};
  ASSERT_TRUE(ensure_managed_cluster(hub->client(), options));
  options.labels = {{"env", "dev"}};
  ASSERT_TRUE(ensure_managed_cluster(hub->client(), options));
  const Json cluster = hub->get(api::managed_clusters(), {}, "c1").value();
  EXPECT_EQ(object_at(cluster, {"metadata", "labels"}), (Json{{"env", "prod"}})) << "an administrator may have changed them";
  EXPECT_EQ(annotation_of(cluster, "agent.open-cluster-management.io/owner"), "a");
  EXPECT_EQ(annotation_of(cluster, "other"), "");
}

TEST(Registration, CreatesOnceAndKeepsWhatAdministratorsWrote) {
  const auto hub = FakeApi::make();
  ClusterOptions options;
  options.name = "c1";
  ASSERT_TRUE(ensure_managed_cluster(hub->client(), options));
  Json written = hub->get(api::managed_clusters(), {}, "c1").value();
  written["spec"]["managedClusterClientConfigs"] = Json::array({{{"url", "https://admin"}}});
  written["spec"]["hubAcceptsClient"] = true;
  hub->put(api::managed_clusters(), written);
  ASSERT_TRUE(ensure_managed_cluster(hub->client(), options));
  EXPECT_EQ(hub->write_count(), 1);
  options.external_urls = {"https://a", "https://b"};
  ASSERT_TRUE(ensure_managed_cluster(hub->client(), options));
  const Json after = hub->get(api::managed_clusters(), {}, "c1").value();
  EXPECT_EQ(list_at(after, {"spec", "managedClusterClientConfigs"}).size(), 2U);
  EXPECT_TRUE(flag(after, {"spec", "hubAcceptsClient"}));
}

}  // namespace
}  // namespace fleetadm::registration::agent
