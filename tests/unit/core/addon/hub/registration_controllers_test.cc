// The controllers of registration together, on a hub in memory.
#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <utility>

#include "core/addon/hub/addon_controllers.h"
#include "core/addon/hub/cached_objects.h"
#include "core/addon/rules/agent_identity.h"
#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"
#include "tests/support/fake_api.h"

namespace fleetadm::addon {
namespace {

using testkit::FakeApi;
namespace res = kube::resources;

class RegistrationHub : public ::testing::Test {
 protected:
  RegistrationHub() {
    const Json permissions =
        Json::array({{{"type", "CurrentCluster"}, {"currentCluster", {{"clusterRoleName", "cr1"}}}},
                     {{"type", "SingleNamespace"},
                      {"singleNamespace",
                       {{"namespace", "shared"},
                        {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", "r1"}}}}}}});
    api->put(api::addon_templates(),
             {{"apiVersion", "addon.open-cluster-management.io/v1alpha1"},
              {"kind", "AddOnTemplate"},
              {"metadata", {{"name", "t1"}}},
              {"spec",
               {{"registration", Json::array({{{"type", "KubeClient"}, {"kubeClient", {{"hubPermissions", permissions}}}}})}}}});
    for (const char* cluster : {"c1", "c2"}) {
      api->put(api::managed_clusters(), {{"apiVersion", "cluster.open-cluster-management.io/v1"},
                                         {"kind", "ManagedCluster"},
                                         {"metadata", {{"name", cluster}}},
                                         {"spec", {{"hubAcceptsClient", true}}}});
      enable(cluster);
    }
    AddonHub addons;
    addons.objects = std::make_shared<CachedObjects>(manager, api->client());
    addons.writer = std::make_shared<PassWriter>(api->client());
    addons.clock = Clock::system();
    AddonHubOptions options{"hub-ns"};
    options.recorder = std::make_shared<kube::Recorder>(api->client(), "test", "test");
    add_cluster_addon_controllers(manager, api->client(), addons);
    add_csr_controller(manager, api->client(), addons, options);
    runner = std::jthread([this](std::stop_token stop) { EXPECT_TRUE(manager.run(std::move(stop))); });
  }

  void enable(const char* cluster, const char* name = "hello", const char* template_name = "t1") {
    Json reference{{"group", "addon.open-cluster-management.io"},
                   {"resource", "addontemplates"},
                   {"desiredConfig", {{"name", template_name}, {"specHash", "h"}}}};
    api->put(api::managed_cluster_addons_v1beta1(),
             {{"apiVersion", "addon.open-cluster-management.io/v1beta1"},
              {"kind", "ManagedClusterAddOn"},
              {"metadata",
               {{"name", name},
                {"namespace", cluster},
                {"ownerReferences", Json::array({{{"kind", "ClusterManagementAddOn"}, {"name", name}}})}}},
              {"status", {{"configReferences", Json::array({std::move(reference)})}}}});
  }
  std::optional<Json> addon(const char* cluster) const {
    return api->get(api::managed_cluster_addons_v1beta1(), cluster, "hello");
  }
  bool is(const char* cluster, const char* type, const char* status) const {
    const auto now = addon(cluster);
    return now && controller::condition_is(*now, type, status);
  }
  bool bound(const char* ns, const char* name) const { return api->get(res::role_bindings(), ns, name).has_value(); }
  /// As the agent of the cluster does.
  void report_driver(const char* cluster, const char* driver) {
    Json object = *addon(cluster);
    object["status"]["registrations"][0]["kubeClient"]["driver"] = driver;
    api->put(api::managed_cluster_addons_v1beta1(), object);
  }
  /// A sound request of an add-on's agent.
  void ask(const std::string& cluster, const std::string& addon) {
    const pki::Subject subject{
        agent_user(cluster, addon, default_agent(addon)), {cluster_addon_group(cluster, addon), addon_group(addon)}, {}};
    const std::string pem = pki::make_csr(pki::generate_key().value(), subject).value();
    api->put(res::certificate_signing_requests(),
             {{"apiVersion", "certificates.k8s.io/v1"},
              {"kind", "CertificateSigningRequest"},
              {"metadata",
               {{"name", "addon-" + cluster + "-" + addon + "-1"},
                {"labels", {{std::string(api::kClusterNameLabel), cluster}, {std::string(api::kAddonNameLabel), addon}}}}},
              {"spec",
               {{"request", base64_encode(pem)},
                {"signerName", "kubernetes.io/kube-apiserver-client"},
                {"username", "system:open-cluster-management:" + cluster + ":agent1"},
                {"usages", Json::array({"client auth", "digital signature", "key encipherment"})}}}});
  }
  bool approved(const std::string& cluster, const std::string& addon) const {
    const auto csr = api->get(res::certificate_signing_requests(), {}, "addon-" + cluster + "-" + addon + "-1");
    return csr && controller::condition_is(*csr, "Approved", "True");
  }
  void put_cluster(const char* name, bool accepted) {
    api->put(api::managed_clusters(), {{"apiVersion", "cluster.open-cluster-management.io/v1"},
                                       {"kind", "ManagedCluster"},
                                       {"metadata", {{"name", name}}},
                                       {"spec", {{"hubAcceptsClient", accepted}}}});
  }
  void put_template(const char* name) {
    api->put(api::addon_templates(), {{"apiVersion", "addon.open-cluster-management.io/v1alpha1"},
                                      {"kind", "AddOnTemplate"},
                                      {"metadata", {{"name", name}}},
                                      {"spec", {{"registration", Json::array({{{"type", "KubeClient"}}})}}}});
  }
  static bool in_time(const std::function<bool()>& done) {
    for (int look = 0; look < 4000 && !done(); ++look) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return done();
  }
  /// The writes of add-ons, once there have been no more for a while.
  int settled_writes() const {
    int before = -1;
    int now = api->count("patch", "managedclusteraddons");
    for (int look = 0; look < 40 && now != before; ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      before = std::exchange(now, api->count("patch", "managedclusteraddons"));
    }
    return now;
  }

  std::shared_ptr<FakeApi> api = FakeApi::make();
  controller::Manager manager{{}};
  std::jthread runner;
};

TEST_F(RegistrationHub, RegistersEveryClusterAndThenWritesNothing) {
  ASSERT_TRUE(in_time([&] { return is("c1", "RegistrationApplied", "True") && is("c2", "RegistrationApplied", "True"); }));
  for (const char* cluster : {"c1", "c2"}) {
    EXPECT_TRUE(bound(cluster, "open-cluster-management:hello:clusterrole:agent"));
    EXPECT_TRUE(bound("shared", (std::string("open-cluster-management:hello:role:agent:") + cluster).c_str()));
  }
  EXPECT_EQ(api->count("create", "rolebindings"), 4);
  // One write each; two where the configuration was decided only after a first pass.
  const auto writes = settled_writes();
  EXPECT_LE(writes, 4);
  put_cluster("c1", true);
  put_cluster("c2", true);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(api->count("patch", "managedclusteraddons"), writes);
}

TEST_F(RegistrationHub, ApprovesARequestOnceWhatItWaitsForIsThere) {
  // One waits for its add-on, one for the cluster to be accepted, one for the template; each is looked at, and left.
  put_cluster("c3", false);
  enable("c3");
  enable("c1", "other", "t2");
  ASSERT_TRUE(in_time([&] { return addon("c3").has_value(); }));
  ask("c1", "late");
  ask("c3", "hello");
  ask("c1", "other");
  ASSERT_TRUE(in_time([&] { return api->count("create", "events") == 3; }));
  EXPECT_FALSE(approved("c1", "late") || approved("c3", "hello") || approved("c1", "other"));
  enable("c1", "late");
  EXPECT_TRUE(in_time([&] { return approved("c1", "late"); }));
  put_cluster("c3", true);
  EXPECT_TRUE(in_time([&] { return approved("c3", "hello"); }));
  // One that is nested too deeply to be read is none, and is in nobody's way.
  Json nested = "x";
  for (int i = 0; i < 600; ++i) nested = Json::object_t{{"n", std::move(nested)}};
  api->put(api::addon_templates(), {{"apiVersion", "addon.open-cluster-management.io/v1alpha1"},
                                    {"kind", "AddOnTemplate"},
                                    {"metadata", {{"name", "t2"}}},
                                    {"spec", {{"deep", std::move(nested)}}}});
  put_template("t3");
  enable("c2", "third", "t3");
  ask("c2", "third");
  EXPECT_TRUE(in_time([&] { return approved("c2", "third"); }));
  EXPECT_FALSE(approved("c1", "other"));
  put_template("t2");
  EXPECT_TRUE(in_time([&] { return approved("c1", "other"); }));
}

TEST_F(RegistrationHub, BringsBackAndTakesAwayRights) {
  ASSERT_TRUE(in_time([&] { return bound("shared", "open-cluster-management:hello:role:agent:c2"); }));
  api->erase(res::role_bindings(), "shared", "open-cluster-management:hello:role:agent:c2");
  EXPECT_TRUE(in_time([&] { return bound("shared", "open-cluster-management:hello:role:agent:c2"); })) << "at once";
  api->erase(api::managed_cluster_addons_v1beta1(), "c2", "hello");
  EXPECT_TRUE(in_time([&] { return !bound("shared", "open-cluster-management:hello:role:agent:c2"); }));
  EXPECT_TRUE(bound("shared", "open-cluster-management:hello:role:agent:c1"));
}

TEST_F(RegistrationHub, MakesTheTokenInfrastructureAndRemovesIt) {
  ASSERT_TRUE(in_time([&] { return is("c1", "RegistrationApplied", "True"); }));
  report_driver("c1", "token");
  ASSERT_TRUE(in_time([&] { return is("c1", "TokenInfrastructureReady", "True"); }));
  EXPECT_TRUE(bound("c1", "hello-token-role"));
  EXPECT_TRUE(in_time([&] {
    return str((*addon("c1"))["status"]["registrations"][0], {"kubeClient", "subject", "user"}) ==
           "system:serviceaccount:c1:hello-agent";
  }));
  report_driver("c1", "csr");
  EXPECT_TRUE(in_time([&] { return !api->get(res::service_accounts(), "c1", "hello-agent"); }));
  EXPECT_TRUE(in_time([&] { return !bound("c1", "hello-token-role") && !is("c1", "TokenInfrastructureReady", "True"); }));
}

TEST_F(RegistrationHub, TellsWhyTheTokenInfrastructureCannotBeMade) {
  ASSERT_TRUE(in_time([&] { return is("c1", "RegistrationApplied", "True"); }));
  const auto forbidden = std::make_shared<std::atomic<bool>>(true);
  api->on_request([forbidden](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (!*forbidden || call.verb != "create" || call.plural != "roles") return std::nullopt;
    return kube::Response{403, {}, R"({"kind":"Status","status":"Failure","reason":"Forbidden","code":403})"};
  });
  report_driver("c1", "token");
  EXPECT_TRUE(in_time([&] { return is("c1", "TokenInfrastructureReady", "False"); }));
  *forbidden = false;
  EXPECT_TRUE(in_time([&] { return is("c1", "TokenInfrastructureReady", "True"); }));
}

}  // namespace
}  // namespace fleetadm::addon
