// ClusterProfiles: made and kept where a set of the cluster is bound, deleted where none is, others' left alone.
#include "core/registration/hub/profiles.h"

#include <functional>
#include <gtest/gtest.h>
#include <thread>

#include "core/api/cluster_profile.h"
#include "core/api/kinds.h"
#include "tests/support/fake_api.h"
#include "tests/support/killable.h"

namespace fleetadm::registration::hub {
namespace {

using testkit::FakeApi;

Json cluster(const std::string& name, const std::string& set) {
  Json conditions = Json::array({{{"type", "ManagedClusterConditionAvailable"},
                                  {"status", "True"},
                                  {"reason", "ManagedClusterAvailable"},
                                  {"message", "fine"},
                                  {"lastTransitionTime", "2026-03-01T09:00:00Z"}}});
  return {{"apiVersion", api::managed_clusters().api_version()},
          {"kind", "ManagedCluster"},
          {"metadata", {{"name", name}, {"labels", {{std::string(api::kClusterSetLabel), set}, {"env", "prod"}}}}},
          {"spec", {{"hubAcceptsClient", true}}},
          {"status",
           {{"conditions", std::move(conditions)},
            {"version", {{"kubernetes", "v1.34.0"}}},
            {"clusterClaims", Json::array({{{"name", "region"}, {"value", "eu"}}})}}}};
}

Json set(const std::string& name, Json selector) {
  return {{"apiVersion", api::managed_cluster_sets().api_version()},
          {"kind", "ManagedClusterSet"},
          {"metadata", {{"name", name}}},
          {"spec", {{"clusterSelector", std::move(selector)}}}};
}

Json binding(const std::string& ns, const std::string& name, const std::string& of) {
  return {{"apiVersion", api::managed_cluster_set_bindings().api_version()},
          {"kind", "ManagedClusterSetBinding"},
          {"metadata", {{"name", name}, {"namespace", ns}}},
          {"spec", {{"clusterSet", of}}}};
}

TEST(Profiles, ASetHasClustersByItsLabelOrByItsSelector) {
  const Json c1 = cluster("c1", "prod");
  EXPECT_TRUE(is_in_set(c1, set("prod", {{"selectorType", "ExclusiveClusterSetLabel"}})));
  EXPECT_TRUE(is_in_set(c1, set("prod", Json::object()))) << "the default of the type";
  EXPECT_FALSE(is_in_set(c1, set("dev", {{"selectorType", "ExclusiveClusterSetLabel"}})));
  EXPECT_TRUE(is_in_set(c1, set("global", {{"selectorType", "LabelSelector"}, {"labelSelector", Json::object()}})));
  EXPECT_FALSE(is_in_set(c1, set("none", {{"selectorType", "LabelSelector"}}))) << "no selector selects nothing";
  EXPECT_FALSE(
      is_in_set(c1, set("dev", {{"selectorType", "LabelSelector"}, {"labelSelector", {{"matchLabels", {{"env", "dev"}}}}}})));
}

TEST(Profiles, MirrorTheClusterAndKeepWhatOthersWrote) {
  const Json c1 = cluster("c1", "prod");
  Json profile = profile_object("apps", c1);
  EXPECT_EQ(str(profile, {"spec", "clusterManager", "name"}), "open-cluster-management");
  EXPECT_EQ(label_of(profile, "multicluster.x-k8s.io/clusterset"), "prod");
  profile["status"] = {
      {"accessProviders", Json::array({{{"name", "open-cluster-management"}}})},
      {"conditions", Json::array({{{"type", "Joined"}, {"status", "True"}}, {{"type", "Other"}, {"status", "True"}}})}};
  EXPECT_TRUE(mirror_cluster(profile, c1));
  EXPECT_FALSE(mirror_cluster(profile, c1)) << "once is enough";
  EXPECT_EQ(str(profile, {"status", "version", "kubernetes"}), "v1.34.0");
  EXPECT_EQ(list_at(profile, {"status", "properties"}), Json::array({{{"name", "region"}, {"value", "eu"}}}));
  EXPECT_EQ(list_at(profile, {"status", "accessProviders"}).size(), 1U);
  const Json* healthy = controller::find_condition(profile, "ControlPlaneHealthy");
  ASSERT_NE(healthy, nullptr);
  EXPECT_EQ(str(*healthy, {"reason"}) + str(*healthy, {"message"}), "ManagedClusterAvailablefine");
  EXPECT_EQ(controller::find_condition(profile, "Joined"), nullptr) << "the cluster does not say so";
  EXPECT_NE(controller::find_condition(profile, "Other"), nullptr);
}

TEST(Profiles, TellTheAddressOfTheClusterWithWhatACredentialPluginNeeds) {
  Json c1 = cluster("c1", "prod");
  Json profile = profile_object("apps", c1);
  mirror_cluster(profile, c1);
  EXPECT_TRUE(list_at(profile, {"status", "accessProviders"}).empty()) << "the cluster has told no address";
  c1["spec"]["managedClusterClientConfigs"] =
      Json::array({{{"url", "https://c1.example.com:6443"}, {"caBundle", "Q0E="}}, {{"url", "https://other.example.com"}}});
  EXPECT_TRUE(mirror_cluster(profile, c1));
  EXPECT_FALSE(mirror_cluster(profile, c1)) << "once is enough";
  ASSERT_EQ(list_at(profile, {"status", "accessProviders"}).size(), 1U);
  const Json provider = list_at(profile, {"status", "accessProviders"}).front();
  EXPECT_EQ(str(provider, {"name"}), "open-cluster-management");
  EXPECT_EQ(str(provider, {"cluster", "server"}), "https://c1.example.com:6443");
  EXPECT_EQ(str(provider, {"cluster", "certificate-authority-data"}), "Q0E=");
  const Json& extension = list_at(provider, {"cluster", "extensions"}).front();
  EXPECT_EQ(str(extension, {"name"}), "client.authentication.k8s.io/exec");
  EXPECT_EQ(str(extension, {"extension", "clusterName"}), "c1");

  profile["status"]["accessProviders"].push_back({{"name", "theirs"}, {"cluster", {{"server", "https://x"}}}});
  c1["spec"]["managedClusterClientConfigs"][0]["url"] = "https://moved.example.com";
  EXPECT_TRUE(mirror_cluster(profile, c1));
  EXPECT_EQ(str(list_at(profile, {"status", "accessProviders"})[0], {"cluster", "server"}), "https://moved.example.com");
  c1["spec"].erase("managedClusterClientConfigs");
  EXPECT_TRUE(mirror_cluster(profile, c1));
  ASSERT_EQ(list_at(profile, {"status", "accessProviders"}).size(), 1U);
  EXPECT_EQ(str(list_at(profile, {"status", "accessProviders"})[0], {"name"}), "theirs");
}

TEST(Profiles, LeaveTheWayOfTheAddOnClusterProxyAsItIs) {
  Json c1 = cluster("c1", "prod");
  c1["spec"]["managedClusterClientConfigs"] = Json::array({{{"url", "https://c1.example.com:6443"}}});
  Json profile = profile_object("apps", c1);
  const Json theirs = Json::array({{{"name", "open-cluster-management"}, {"cluster", {{"server", "https://proxy:9092/c1"}}}}});
  profile["status"]["accessProviders"] = theirs;
  mirror_cluster(profile, c1);
  EXPECT_EQ(list_at(profile, {"status", "accessProviders"}), theirs);
}

class ProfilesTest : public ::testing::Test {
 protected:
  ProfilesTest() {
    hub_->put(api::managed_clusters(), cluster("c1", "prod"));
    hub_->put(api::managed_clusters(), cluster("c2", "dev"));
    for (const char* name : {"prod", "dev"})
      hub_->put(api::managed_cluster_sets(), set(name, {{"selectorType", "ExclusiveClusterSetLabel"}}));
  }
  void TearDown() override { controllers_.stop(); }
  void start(int die_after = -1) {
    controllers_.start([this](controller::Manager& manager,
                              const std::shared_ptr<kube::WriteGate>& gate) { add_profiles(manager, hub_->client(gate)); },
                       die_after);
  }
  static bool eventually(const std::function<bool()>& done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!done() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return done();
  }
  std::optional<Json> profile(const std::string& ns, const std::string& name) const {
    return hub_->get(api::cluster_profiles(), ns, name);
  }
  void bind(const std::string& ns, const std::string& name) {
    hub_->put(api::managed_cluster_set_bindings(), binding(ns, name, name));
  }
  std::shared_ptr<FakeApi> hub_ = FakeApi::make();
  testkit::Killable controllers_;
};

TEST_F(ProfilesTest, AreWhereASetOfTheClusterIsBound) {
  bind("apps", "prod");
  start();
  ASSERT_TRUE(eventually([&] { return profile("apps", "c1") && profile("apps", "c1")->contains("status"); }));
  EXPECT_FALSE(profile("apps", "c2"));
  bind("apps", "dev");
  ASSERT_TRUE(eventually([&] { return profile("apps", "c2").has_value(); }));
  Json moved = cluster("c2", "prod");
  hub_->put(api::managed_clusters(), moved);
  ASSERT_TRUE(eventually([&] { return label_of(*profile("apps", "c2"), "multicluster.x-k8s.io/clusterset") == "prod"; }));
  hub_->erase(api::managed_cluster_set_bindings(), "apps", "prod");
  ASSERT_TRUE(eventually([&] { return !profile("apps", "c1") && !profile("apps", "c2"); }));
}

TEST_F(ProfilesTest, ComeBackAndGoWithTheirCluster) {
  bind("apps", "prod");
  start();
  ASSERT_TRUE(eventually([&] { return profile("apps", "c1").has_value(); }));
  hub_->erase(api::cluster_profiles(), "apps", "c1");
  ASSERT_TRUE(eventually([&] { return profile("apps", "c1").has_value(); }));
  hub_->erase(api::managed_clusters(), "", "c1");
  ASSERT_TRUE(eventually([&] { return !profile("apps", "c1"); }));
}

TEST_F(ProfilesTest, OfOtherManagersStay) {
  bind("apps", "prod");
  const Json foreign{{"apiVersion", api::cluster_profiles().api_version()},
                     {"kind", "ClusterProfile"},
                     {"metadata", {{"name", "c1"}, {"namespace", "apps"}}},
                     {"spec", {{"clusterManager", {{"name", "another"}}}}}};
  hub_->put(api::cluster_profiles(), foreign);
  start();
  bind("more", "prod");
  ASSERT_TRUE(eventually([&] { return profile("more", "c1").has_value(); }));
  EXPECT_FALSE(profile("apps", "c1")->contains("status"));
  hub_->erase(api::managed_cluster_set_bindings(), "apps", "prod");
  hub_->erase(api::managed_cluster_set_bindings(), "more", "prod");
  ASSERT_TRUE(eventually([&] { return !profile("more", "c1"); }));
  EXPECT_TRUE(profile("apps", "c1"));
}

TEST_F(ProfilesTest, AreNotDeletedWhereTheServerDoesNotConfirmIt) {
  bind("apps", "prod");
  start();
  ASSERT_TRUE(eventually([&] { return profile("apps", "c1").has_value(); }));
  hub_->on_request([](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    const bool asked = call.verb == "list" && call.plural == "managedclustersetbindings" && call.ns == "apps";
    if (!asked) return std::nullopt;
    return kube::Response{500, {}, R"({"kind":"Status","status":"Failure","code":500,"reason":"InternalError"})"};
  });
  hub_->erase(api::managed_cluster_set_bindings(), "apps", "prod");
  ASSERT_TRUE(eventually([&] { return hub_->count("list", "managedclustersetbindings") > 2; }));
  EXPECT_TRUE(profile("apps", "c1"));
}

TEST_F(ProfilesTest, KilledAfterEveryWriteTheEndIsTheSame) {
  for (int writes = 0; writes <= 4; ++writes) {
    bind("apps", "prod");
    bind("apps", "dev");
    start(writes);
    eventually([&] { return controllers_.writes() >= std::min(writes, 3); });
    hub_->erase(api::managed_cluster_set_bindings(), "apps", "dev");
    start();
    EXPECT_TRUE(eventually([&] {
      const auto c1 = profile("apps", "c1");
      return c1 && !list_at(*c1, {"status", "properties"}).empty() && !profile("apps", "c2");
    })) << writes;
    hub_->erase(api::managed_cluster_set_bindings(), "apps", "prod");
    EXPECT_TRUE(eventually([&] { return !profile("apps", "c1"); })) << writes;
  }
}

}  // namespace
}  // namespace fleetadm::registration::hub
