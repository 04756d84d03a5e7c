// Copies of tokens for ClusterProfiles, against a hub in memory: what is copied, what goes again, and what is left alone.
#include "core/msa/hub/profile_copies.h"

#include <functional>
#include <gtest/gtest.h>
#include <thread>

#include "core/api/cluster_profile.h"
#include "core/api/managed_service_account.h"
#include "core/msa/rules/profile_copy.h"
#include "core/msa/rules/token_secret.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/fake_api.h"
#include "tests/support/killable.h"

namespace fleetadm::msa {
namespace {

using testkit::FakeApi;
namespace res = kube::resources;

std::string token_numbered(int number) {
  const Json claims{{"iat", 1'700'000'000}, {"exp", 4'000'000'000}, {"kubernetes.io", {{"serviceaccount", {{"uid", "u"}}}}}};
  return "e30." + base64url_encode(dump_json(claims)) + ".sig" + std::to_string(number);
}

class ProfileCopiesTest : public testing::Test {
 protected:
  void TearDown() override { controllers.stop(); }
  void start(int die_after = -1) {
    controllers.start(
        [this](controller::Manager& manager, const std::shared_ptr<kube::WriteGate>& gate) {
          const auto recorder = std::make_shared<kube::Recorder>(hub->client(), "hub", "hub-0");
          add_profile_copies(manager, hub->client(gate), recorder);
        },
        die_after);
  }
  Json profile(const std::string& ns = "apps", const std::string& name = "c1") const {
    return hub->get(api::cluster_profiles(), ns, name).value_or(Json());
  }
  Json make_profile(const std::string& ns = "apps", const std::string& name = "c1") {
    return hub->put(api::cluster_profiles(),
                    {{"apiVersion", api::cluster_profiles().api_version()},
                     {"kind", "ClusterProfile"},
                     {"metadata",
                      {{"name", name},
                       {"namespace", ns},
                       {"labels", {{api::kClusterManagerLabel, api::kClusterManager}, {api::kProfileClusterLabel, name}}}}},
                     {"spec", {{"clusterManager", {{"name", api::kClusterManager}}}}}});
  }
  /// An account of a cluster with its Secret, as the cluster's agent reports it.
  Json make_account(const std::string& name, int number = 1, const std::string& cluster = "c1") {
    Json object = hub->get(api::managed_service_accounts(), cluster, name)
                      .value_or(Json{{"apiVersion", api::managed_service_accounts().api_version()},
                                     {"kind", "ManagedServiceAccount"},
                                     {"metadata", {{"name", name}, {"namespace", cluster}, {"labels", {{kSyncLabel, "true"}}}}},
                                     {"spec", {{"rotation", Json::object()}}}});
    object = hub->put(api::managed_service_accounts(), object);
    const Json before = hub->get(res::secrets(), cluster, name).value_or(Json());
    hub->put(res::secrets(), secret_object(before, object, token_numbered(number), "ca"));
    object["status"] = {{"tokenSecretRef", {{"name", name}, {"lastRefreshTimestamp", std::to_string(number)}}}};
    return hub->put(api::managed_service_accounts(), object);
  }
  Json copy(const std::string& name = "c1-app", const std::string& ns = "apps") const {
    return hub->get(res::secrets(), ns, name).value_or(Json());
  }
  bool copied(const std::string& name, int number, const std::string& ns = "apps") const {
    return token_in(copy(name, ns)) == token_numbered(number);
  }
  static bool eventually(const std::function<bool()>& done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!done() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return done();
  }
  /// A change that comes after all others was worked on.
  void settle() {
    make_profile("last", "c9");
    make_account("marker", ++markers, "c9");
    ASSERT_TRUE(eventually([&] { return copied("c9-marker", markers, "last"); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }

  std::shared_ptr<FakeApi> hub = FakeApi::make();
  int markers = 0;
  testkit::Killable controllers;
};

TEST_F(ProfileCopiesTest, CopiesWhatIsLabeledIntoEachProfileOfTheCluster) {
  const Json made = make_profile();
  make_profile("more");
  make_profile("apps", "c2");
  make_account("app");
  Json other = make_account("private");
  other["metadata"]["labels"].clear();
  hub->put(api::managed_service_accounts(), other);
  start();
  ASSERT_TRUE(eventually([&] { return copied("c1-app", 1) && copied("c1-app", 1, "more"); }));
  const Json secret = copy();
  EXPECT_EQ(str(secret, {"type"}), "Opaque");
  EXPECT_EQ(secret["metadata"]["labels"], (Json{{"authentication.open-cluster-management.io/synced-from", "c1-app"}}));
  EXPECT_EQ(secret["metadata"]["ownerReferences"], Json::array({{{"apiVersion", "multicluster.x-k8s.io/v1alpha1"},
                                                                 {"kind", "ClusterProfile"},
                                                                 {"name", "c1"},
                                                                 {"uid", uid_of(made)},
                                                                 {"controller", true}}}));
  EXPECT_EQ(secret["data"], (Json{{"token", base64_encode(token_numbered(1))}, {"ca.crt", base64_encode("ca")}}));
  settle();
  EXPECT_TRUE(copy("c1-private").is_null());
  EXPECT_TRUE(copy("c2-app").is_null());
  EXPECT_EQ(hub->count("list", "secrets"), 0);
  EXPECT_EQ(hub->count("watch", "secrets"), 0);

  make_account("app", 2);
  ASSERT_TRUE(eventually([&] { return copied("c1-app", 2) && copied("c1-app", 2, "more"); })) << "a new token";
  settle();
  hub->forget_calls();
  start();
  settle();
  for (const auto& call : hub->writes()) EXPECT_EQ(call.ns, "last") << call.verb << " " << call.path << ": nothing has changed";
}

TEST_F(ProfileCopiesTest, WhatLosesItsObjectOrLabelGoesAlsoWhileNobodyWatched) {
  make_profile();
  for (const char* name : {"app", "bare", "gone"}) make_account(name);
  start();
  ASSERT_TRUE(eventually([&] { return copied("c1-app", 1) && copied("c1-bare", 1) && copied("c1-gone", 1); }));
  Json bare = *hub->get(api::managed_service_accounts(), "c1", "bare");
  bare["metadata"]["labels"].clear();
  hub->put(api::managed_service_accounts(), bare);
  EXPECT_TRUE(eventually([&] { return copy("c1-bare").is_null(); }));
  controllers.stop();
  hub->erase(api::managed_service_accounts(), "c1", "gone");
  start();
  EXPECT_TRUE(eventually([&] { return copy("c1-gone").is_null(); }));
  EXPECT_TRUE(eventually([&] { return noted_copies(profile()) == std::set<std::string>{"app"}; })) << profile();
  EXPECT_TRUE(copied("c1-app", 1));
  Json renamed = profile();
  renamed["metadata"]["labels"][std::string(api::kProfileClusterLabel)] = "c2";
  hub->put(api::cluster_profiles(), renamed);
  EXPECT_TRUE(eventually([&] { return copy().is_null() && noted_copies(profile()).empty(); })) << "it is no profile of c1";
}

TEST_F(ProfileCopiesTest, LeavesAloneWhatIsSomebodyElses) {
  make_profile();
  const Json foreign{{"apiVersion", "v1"},
                     {"kind", "Secret"},
                     {"type", "Opaque"},
                     {"metadata", {{"name", "c1-app"}, {"namespace", "apps"}}},
                     {"data", {{"password", "eA=="}}}};
  hub->put(res::secrets(), foreign);
  make_account("app");
  start();
  const kube::Resource events{"events.k8s.io", "v1", "events", "Event", true};
  ASSERT_TRUE(eventually([&] { return !hub->all(events).empty(); }));
  EXPECT_EQ(str(hub->all(events).front(), {"reason"}), "CredentialNotCopied");
  EXPECT_NE(str(hub->all(events).front(), {"note"}).find("Secret apps/c1-app does not have the label"), std::string::npos);
  settle();
  EXPECT_EQ(copy()["data"], foreign["data"]);
  hub->erase(api::managed_service_accounts(), "c1", "app");
  settle();
  EXPECT_EQ(copy()["data"], foreign["data"]) << "nor is it deleted";

  // With the label, but of another profile: "c1" with "x-app" and "c1-x" with "app" have one name.
  make_profile("apps", "c1-x");
  make_account("app", 1, "c1-x");
  ASSERT_TRUE(eventually([&] { return copied("c1-x-app", 1); }));
  make_account("x-app", 2);
  settle();
  EXPECT_TRUE(copied("c1-x-app", 1)) << "the first one keeps it";
  hub->erase(api::managed_service_accounts(), "c1", "x-app");
  settle();
  EXPECT_TRUE(copied("c1-x-app", 1));
}

// The times of a status are whole seconds.
TEST_F(ProfileCopiesTest, NoticesATokenThatReplacedAnotherOneWithinTheSameSecond) {
  make_profile();
  const Json object = make_account("app");
  start();
  ASSERT_TRUE(eventually([&] { return copied("c1-app", 1); }));
  hub->put(res::secrets(), secret_object(*hub->get(res::secrets(), "c1", "app"), object, token_numbered(2), "ca"));
  EXPECT_TRUE(eventually([&] { return copied("c1-app", 2); }));
}

TEST_F(ProfileCopiesTest, CopiesOnlyTheTokenOfTheAccountItself) {
  make_profile();
  Json object = make_account("app");
  hub->put(res::secrets(), {{"apiVersion", "v1"},
                            {"kind", "Secret"},
                            {"type", "Opaque"},
                            {"metadata", {{"name", "other"}, {"namespace", "c1"}}},
                            {"data", {{"token", base64_encode(token_numbered(7))}}}});
  object["status"]["tokenSecretRef"]["name"] = "other";  // a cluster's word
  hub->put(api::managed_service_accounts(), object);
  Json unlabelled = make_account("bare");
  Json secret = *hub->get(res::secrets(), "c1", "bare");
  secret["metadata"].erase("labels");
  hub->put(res::secrets(), secret);
  make_account("broken");
  secret = *hub->get(res::secrets(), "c1", "broken");
  secret["data"]["token"] = base64_encode("not a token");
  hub->put(res::secrets(), secret);
  start();
  settle();
  for (const char* name : {"c1-app", "c1-bare", "c1-broken"}) EXPECT_TRUE(copy(name).is_null()) << name;
  for (const auto& call : hub->calls()) EXPECT_NE(call.name, "other");
}

// Killed after each of its writes, and what it copies or has copied taken away meanwhile: the same end.
TEST_F(ProfileCopiesTest, KilledAfterEveryWriteTheEndIsTheSame) {
  for (int writes = 0; writes <= 5; ++writes) {
    for (const bool goes : {false, true}) {
      controllers.stop();
      hub = FakeApi::make();
      make_profile();
      make_account("app");
      make_account("bpp");
      start(writes);
      eventually([&] { return controllers.writes() >= std::min(writes, 3); });
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (goes) hub->erase(api::managed_service_accounts(), "c1", "bpp");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      start();
      const std::set<std::string> left = goes ? std::set<std::string>{"app"} : std::set<std::string>{"app", "bpp"};
      EXPECT_TRUE(eventually([&] {
        return copied("c1-app", 1) && copy("c1-bpp").is_null() == goes && noted_copies(profile()) == left;
      })) << writes
          << goes << profile();
    }
  }
}

TEST_F(ProfileCopiesTest, ACopyThatWasChangedIsMendedWithTheNextChangeOfItsObject) {
  make_profile();
  make_account("app");
  start();
  ASSERT_TRUE(eventually([&] { return copied("c1-app", 1); }));
  Json changed = copy();
  changed["data"]["token"] = "eA==";
  changed["metadata"]["labels"]["mine"] = "x";
  hub->put(res::secrets(), changed);
  make_account("app", 2);
  ASSERT_TRUE(eventually([&] { return copied("c1-app", 2); }));
  EXPECT_EQ(label_of(copy(), "mine"), "x");
  hub->erase(res::secrets(), "apps", "c1-app");
  make_account("app", 3);
  EXPECT_TRUE(eventually([&] { return copied("c1-app", 3); }));
  // Another profile of that name: its copies are the new one's.
  hub->erase(api::cluster_profiles(), "apps", "c1");
  const Json anew = make_profile();
  EXPECT_TRUE(eventually([&] { return is_owned_by(copy(), anew); }));
}

}  // namespace
}  // namespace fleetadm::msa
