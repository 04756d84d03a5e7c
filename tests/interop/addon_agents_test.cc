// Add-ons between upstream's programs and ours: our agent under upstream's hub, and add-ons of upstream's framework (its
// examples, as programs) on our hub with our agents.
#include "tests/interop/addon_fleet.h"

namespace fleetadm::testkit {
namespace {

using std::chrono::seconds;

class AddonAgents : public AddonFleet {
 protected:
  void SetUp() override {
    FLEETADM_NEEDS_KUBE_SERVERS();
    if (!peers_folder({"addon", "helloworld", "helloworld_hosted"}))
      GTEST_SKIP() << "FLEETADM_PEERS names no folder with upstream's programs (addon, helloworld, helloworld_hosted)";
  }
};

TEST_F(AddonAgents, OurAgentRegistersAddOnsUnderUpstreamsHub) {
  ASSERT_NO_FATAL_FAILURE(begin(1));
  const Ran init = fleet_->run({"init", "--context", "hub", "--image", "example.invalid/not-run:1", "-o", "json"});
  ASSERT_EQ(init.code, 0) << init.both();
  ASSERT_EQ(
      fleet_->hub().request("DELETE", "/apis/apps/v1/namespaces/open-cluster-management-hub/deployments/fleetadm-hub").status,
      200);
  ASSERT_TRUE(peers_->start_hub(fleet_->hub()));
  const Status manager = peers_->start_addon_manager(fleet_->hub());
  ASSERT_TRUE(manager) << manager.error().message;
  ASSERT_NO_FATAL_FAILURE(join(init.json(), "c1"));

  const Json permission{{"type", "CurrentCluster"}, {"currentCluster", {{"clusterRoleName", "view"}}}};
  const Json container{{"name", "agent"}, {"image", "example.com/agent:1"}};
  Json deployment{
      {"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"metadata", {{"name", "hello"}, {"namespace", kInstallNamespace}}}};
  deployment["spec"] = {{"selector", {{"matchLabels", {{"app", "hello"}}}}}};
  deployment["spec"]["template"] = {{"metadata", {{"labels", {{"app", "hello"}}}}},
                                    {"spec", {{"containers", Json::array({container})}}}};
  make("/addontemplates",
       {{"kind", "AddOnTemplate"},
        {"metadata", {{"name", "hello-v1"}}},
        {"spec",
         {{"addonName", "hello"},
          {"agentSpec", {{"workload", {{"manifests", Json::array({deployment})}}}}},
          {"registration",
           Json::array({{{"type", "KubeClient"}, {"kubeClient", {{"hubPermissions", Json::array({permission})}}}}})}}}},
       "v1alpha1");
  const Json supported{
      {"group", "addon.open-cluster-management.io"}, {"resource", "addontemplates"}, {"defaultConfig", {{"name", "hello-v1"}}}};
  make("/clustermanagementaddons",
       {{"kind", "ClusterManagementAddOn"},
        {"metadata", {{"name", "hello"}}},
        {"spec", {{"supportedConfigs", Json::array({supported})}}}},
       "v1alpha1");
  enable("c1", "hello");
  EXPECT_TRUE(told("c1", "hello", "RegistrationApplied", "True")) << now("c1", "hello") << peers_->log("upstream-addon");
  EXPECT_TRUE(told("c1", "hello", "ClusterCertificateRotated", "True")) << now("c1", "hello") << peers_->log("upstream-addon");
  EXPECT_EQ(user_of(mounted(1, "hello")), "system:open-cluster-management:cluster:c1:addon:hello:agent:hello-agent");
  EXPECT_TRUE(told("c1", "hello", "ManifestApplied", "True")) << now("c1", "hello");
  EXPECT_TRUE(told("c1", "hello", "Available", "True")) << now("c1", "hello");
  EXPECT_TRUE(told("c1", "hello", "Progressing", "False")) << now("c1", "hello");
  EXPECT_TRUE(feature_becomes("c1", "hello", "available"));

  // By token, once our agent says so.
  const auto by_token = fleet_->spoke(1).request(
      "PATCH", "/apis/apps/v1/namespaces/open-cluster-management-agent/deployments/fleetadm-agent",
      R"([{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--addon-driver=token"}])",
      "application/json-patch+json");
  ASSERT_EQ(by_token.status, 200) << by_token.body;
  EXPECT_TRUE(told("c1", "hello", "TokenInfrastructureReady", "True")) << now("c1", "hello") << peers_->log("upstream-addon");
  EXPECT_TRUE(eventually([&] { return !stored(1, "hello", "token").empty(); }, seconds(60))) << now("c1", "hello");
  EXPECT_EQ(user_of(mounted(1, "hello")), "system:serviceaccount:c1:hello-agent");

  // One that is known by its lease alone.
  make("/clustermanagementaddons",
       {{"kind", "ClusterManagementAddOn"}, {"metadata", {{"name", "leased"}}}, {"spec", Json::object()}});
  enable("c1", "leased");
  EXPECT_TRUE(told("c1", "leased", "Available", "Unknown")) << now("c1", "leased");
  const auto lease =
      fleet_->spoke(1).create("/apis/coordination.k8s.io/v1/namespaces/" + std::string(kInstallNamespace) + "/leases",
                              {{"apiVersion", "coordination.k8s.io/v1"},
                               {"kind", "Lease"},
                               {"metadata", {{"name", "leased"}, {"namespace", kInstallNamespace}}},
                               {"spec", {{"renewTime", format_micro_time(Clock::system()->now())}}}});
  ASSERT_EQ(lease.status, 201) << lease.body;
  EXPECT_TRUE(told("c1", "leased", "Available", "True")) << now("c1", "leased");
  EXPECT_TRUE(feature_becomes("c1", "leased", "available"));

  ASSERT_EQ(fleet_->hub().request("DELETE", addon_path("c1", "hello")).status, 200);
  EXPECT_TRUE(eventually([&] { return fleet_->spoke(1).get(hub_kubeconfig_secret("hello")).is_null(); }, seconds(60)));
  EXPECT_TRUE(feature_becomes("c1", "hello", ""));
}

TEST_F(AddonAgents, AnAddOnOfUpstreamsFrameworkOnOurHub) {
  ASSERT_NO_FATAL_FAILURE(start_our_hub(1));
  make("/clustermanagementaddons", {{"kind", "ClusterManagementAddOn"},
                                    {"metadata", {{"name", "helloworld"}}},
                                    {"spec",
                                     {{"defaultConfigs", Json::array({{{"group", "addon.open-cluster-management.io"},
                                                                       {"resource", "addondeploymentconfigs"},
                                                                       {"namespace", "default"},
                                                                       {"name", "hello"}}})}}}});
  make("/namespaces/default/addondeploymentconfigs",
       {{"kind", "AddOnDeploymentConfig"},
        {"metadata", {{"name", "hello"}, {"namespace", "default"}}},
        {"spec", {{"nodePlacement", {{"nodeSelector", {{"kubernetes.io/os", "linux"}}}}}}}});
  const auto since = fleet_->hub().audit_position();
  ASSERT_TRUE(peers_->start_example(fleet_->hub(), "helloworld", {"controller"}));
  enable("c1", "helloworld");
  EXPECT_TRUE(told("c1", "helloworld", "RegistrationApplied", "True")) << now("c1", "helloworld") << peers_->log("example");
  EXPECT_TRUE(told("c1", "helloworld", "ClusterCertificateRotated", "True")) << now("c1", "helloworld") << peers_->log("example");
  EXPECT_TRUE(told("c1", "helloworld", "ManifestApplied", "True")) << now("c1", "helloworld") << peers_->log("example");
  EXPECT_TRUE(told("c1", "helloworld", "Available", "True")) << now("c1", "helloworld") << peers_->log("example");
  EXPECT_TRUE(told("c1", "helloworld", "Progressing", "False")) << now("c1", "helloworld");
  EXPECT_TRUE(feature_becomes("c1", "helloworld", "available"));
  EXPECT_EQ(works_of("helloworld"), std::set<std::string>{"c1/addon-helloworld-deploy-0"});
  const Json agent =
      fleet_->spoke(1).get("/apis/apps/v1/namespaces/" + std::string(kInstallNamespace) + "/deployments/helloworld-agent");
  EXPECT_EQ(str(agent, {"spec", "template", "spec", "nodeSelector", "kubernetes.io/os"}), "linux") << agent;

  // Its agent, with what our agent has put into the Secret: it copies ConfigMaps of its cluster.
  const std::string kubeconfig = mounted(1, "helloworld");
  EXPECT_TRUE(user_of(kubeconfig).starts_with("system:open-cluster-management:cluster:c1:addon:helloworld:agent:"))
      << user_of(kubeconfig);
  peers_->stop_example();
  ASSERT_NO_FATAL_FAILURE(put_on_hub("c1", "greeting"));
  ASSERT_TRUE(peers_->start_example(
      fleet_->spoke(1), "helloworld",
      {"agent", "--hub-kubeconfig=" + kubeconfig, "--cluster-name=c1", "--addon-namespace=" + std::string(kInstallNamespace)}));
  const std::string copied = "/api/v1/namespaces/" + std::string(kInstallNamespace) + "/configmaps/greeting";
  EXPECT_TRUE(eventually(
      [&] {
        return str(fleet_->spoke(1).get(copied), {"data", "from"}) == "hub";
      },
      seconds(60)))
      << peers_->log("example");

  // It goes with its works; nothing that our hub tried on the way was refused.
  ASSERT_TRUE(peers_->start_example(fleet_->hub(), "helloworld", {"controller"}));
  ASSERT_EQ(fleet_->hub().request("DELETE", addon_path("c1", "helloworld")).status, 200);
  EXPECT_TRUE(eventually([&] { return works_of("helloworld").empty() && now("c1", "helloworld").is_null(); }, seconds(90)))
      << now("c1", "helloworld") << peers_->log("example");
  EXPECT_TRUE(eventually([&] { return fleet_->spoke(1).get(hub_kubeconfig_secret("helloworld")).is_null(); }, seconds(60)));
  EXPECT_TRUE(feature_becomes("c1", "helloworld", ""));
  for (const AuditEntry& entry : fleet_->hub().audit_since(since)) {
    const bool ours = entry.user == "system:serviceaccount:open-cluster-management-hub:fleetadm-hub" ||
                      entry.user.starts_with("system:open-cluster-management:c1:");
    if (!ours || !entry.is_write()) continue;
    EXPECT_TRUE(entry.code < 400 || entry.code == 409) << entry.user << " " << entry.uri << entry.response;
  }
}

TEST_F(AddonAgents, AHostedAddOnOfUpstreamsFrameworkOnOurHub) {
  ASSERT_NO_FATAL_FAILURE(start_our_hub(2));
  make("/clustermanagementaddons",
       {{"kind", "ClusterManagementAddOn"}, {"metadata", {{"name", "helloworldhosted"}}}, {"spec", Json::object()}});
  ASSERT_TRUE(peers_->start_example(fleet_->hub(), "helloworld_hosted", {"controller"}));
  enable("c2", "helloworldhosted", {{"addon.open-cluster-management.io/hosting-cluster-name", "c1"}});
  EXPECT_TRUE(told("c2", "helloworldhosted", "RegistrationApplied", "True"))
      << now("c2", "helloworldhosted") << peers_->log("example");
  EXPECT_TRUE(told("c2", "helloworldhosted", "HostingManifestApplied", "True"))
      << now("c2", "helloworldhosted") << peers_->log("example");
  EXPECT_TRUE(told("c2", "helloworldhosted", "ManifestApplied", "True")) << now("c2", "helloworldhosted");
  EXPECT_TRUE(told("c2", "helloworldhosted", "ClusterCertificateRotated", "True")) << now("c2", "helloworldhosted");
  EXPECT_TRUE(told("c2", "helloworldhosted", "Progressing", "False")) << now("c2", "helloworldhosted");
  EXPECT_EQ(works_of("helloworldhosted"),
            (std::set<std::string>{"c1/addon-helloworldhosted-deploy-hosting-c2-0", "c2/addon-helloworldhosted-deploy-0"}));
  const std::string agent = "/apis/apps/v1/namespaces/" + std::string(kInstallNamespace) + "/deployments/helloworldhosted-agent";
  EXPECT_TRUE(eventually([&] { return !fleet_->spoke(1).get(agent).is_null(); }));
  EXPECT_TRUE(fleet_->spoke(2).get(agent).is_null());

  // Its hook runs where it is hosted, then everything goes.
  const auto hosting = fleet_->spoke(1).audit_position();
  ASSERT_EQ(fleet_->hub().request("DELETE", addon_path("c2", "helloworldhosted")).status, 200);
  EXPECT_TRUE(
      eventually([&] { return now("c2", "helloworldhosted").is_null() && works_of("helloworldhosted").empty(); }, seconds(120)))
      << now("c2", "helloworldhosted") << peers_->log("example");
  EXPECT_TRUE(eventually([&] { return fleet_->spoke(1).get(agent).is_null(); }, seconds(60)));
  bool hook = false;
  for (const AuditEntry& entry : writes_since(fleet_->spoke(1), hosting))
    hook = hook || (entry.verb == "create" && entry.resource == "jobs");
  EXPECT_TRUE(hook);
}

}  // namespace
}  // namespace fleetadm::testkit
