// The hub's own conduct with the rights of add-on agents, and with their token infrastructure.
#include "core/addon/rules/hub_permissions.h"

#include <gtest/gtest.h>
#include <set>

#include "core/addon/rules/agent_identity.h"
#include "core/addon/rules/registration.h"
#include "core/addon/rules/token_infrastructure.h"
#include "core/controller/controller.h"

namespace fleetadm::addon {
namespace {

using rollout::Semantics;

Json current_cluster(const char* role) { return {{"type", "CurrentCluster"}, {"currentCluster", {{"clusterRoleName", role}}}}; }

Json single_namespace(const char* ns, const char* role) {
  return {{"type", "SingleNamespace"},
          {"singleNamespace",
           {{"namespace", ns}, {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", role}}}}}};
}

class HubRights : public ::testing::Test {
 protected:
  void declare(Json permissions) {
    objects.put({{"apiVersion", "addon.open-cluster-management.io/v1alpha1"},
                 {"kind", "AddOnTemplate"},
                 {"metadata", {{"name", "t1"}}},
                 {"spec",
                  {{"registration",
                    Json::array({{{"type", "KubeClient"}, {"kubeClient", {{"hubPermissions", std::move(permissions)}}}}})}}}});
  }
  void enable(const std::string& cluster, Json registrations = Json::array()) {
    objects.put(
        {{"apiVersion", "cluster.open-cluster-management.io/v1"}, {"kind", "ManagedCluster"}, {"metadata", {{"name", cluster}}}});
    Json reference{{"group", "addon.open-cluster-management.io"},
                   {"resource", "addontemplates"},
                   {"desiredConfig", {{"name", "t1"}, {"specHash", "h"}}}};
    objects.put(
        {{"apiVersion", "addon.open-cluster-management.io/v1beta1"},
         {"kind", "ManagedClusterAddOn"},
         {"metadata",
          {{"name", "hello"},
           {"namespace", cluster},
           {"uid", "u-" + cluster},
           {"ownerReferences", Json::array({{{"kind", "ClusterManagementAddOn"}, {"name", "hello"}}})}}},
         {"status", {{"configReferences", Json::array({std::move(reference)})}, {"registrations", std::move(registrations)}}}});
  }
  /// One pass, written; its errors.
  std::vector<std::string> run(const std::string& cluster) {
    const Pass pass = registration_pass(objects, cluster, "hello", *parse_time("2026-03-01T12:00:00Z"), Semantics::kStrict);
    for (const Json& object : pass.changed) objects.put(object);
    for (const ObjectRef& gone : pass.deleted) EXPECT_TRUE(objects.remove(gone.type, gone.ns, gone.name));
    std::vector<std::string> errors;
    for (const Error& error : pass.errors) errors.push_back(error.message);
    return errors;
  }
  std::set<std::string> bindings() const {
    std::set<std::string> names;
    for (const ObjectPtr& binding : objects.list(role_bindings())) {
      std::string subjects;
      for (const Json& subject : list_at(*binding, {"subjects"})) subjects += " " + str(subject, {"name"});
      names.insert(namespace_of(*binding) + "/" + name_of(*binding) + " " + str(*binding, {"roleRef", "name"}) + subjects);
    }
    return names;
  }
  static std::string agent(const std::string& cluster) {
    return " " + agent_user(cluster, "hello", "hello-agent") + " " + cluster_addon_group(cluster, "hello");
  }

  MemoryObjects objects;
};

TEST_F(HubRights, AreBoundInOnePassToTheClustersOwnAgent) {
  declare(Json::array({current_cluster("cr1")}));
  enable("c1");
  EXPECT_TRUE(run("c1").empty());
  EXPECT_EQ(bindings(), std::set<std::string>{"c1/open-cluster-management:hello:clusterrole:agent cr1" + agent("c1")});
  const ObjectPtr addon = objects.get(managed_cluster_addons(), "c1", "hello");
  EXPECT_TRUE(controller::condition_is(*addon, "RegistrationApplied", "True"));
  EXPECT_EQ(list_at(*addon, {"status", "supportedConfigs"}).size(), 2u);
  EXPECT_EQ(str(*addon, {"status", "namespace"}), "open-cluster-management-agent-addon");
}

TEST_F(HubRights, OfTwoRolesInOneNamespaceAreBothBound) {
  declare(Json::array({current_cluster("cr1"), current_cluster("cr2"), single_namespace("shared", "r1"),
                       single_namespace("shared", "r2"), single_namespace("shared", "r1")}));
  enable("c1");
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(run("c1").empty());
    EXPECT_EQ(bindings(), (std::set<std::string>{
                              "c1/open-cluster-management:hello:clusterrole:agent cr1" + agent("c1"),
                              "c1/open-cluster-management:hello:clusterrole:agent:cr2 cr2" + agent("c1"),
                              "shared/open-cluster-management:hello:role:agent:c1 r1" + agent("c1"),
                              "shared/open-cluster-management:hello:role:agent:c1:r2 r2" + agent("c1"),
                          }));
  }
}

TEST_F(HubRights, InASharedNamespaceAreBoundForEachClusterAndLeaveWithIt) {
  declare(Json::array({single_namespace("shared", "r1")}));
  enable("c1");
  enable("c2");
  EXPECT_TRUE(run("c1").empty());
  EXPECT_TRUE(run("c2").empty());
  const std::string of_c1 = "shared/open-cluster-management:hello:role:agent:c1 r1" + agent("c1");
  EXPECT_EQ(bindings(), (std::set<std::string>{of_c1, "shared/open-cluster-management:hello:role:agent:c2 r1" + agent("c2")}));
  objects.remove(managed_cluster_addons(), "c2", "hello");
  EXPECT_TRUE(run("c2").empty());
  EXPECT_EQ(bindings(), std::set<std::string>{of_c1});
}

TEST_F(HubRights, ThatTheTemplateDoesNotGiveAnyMoreAreTakenAway) {
  declare(Json::array({current_cluster("cr1"), single_namespace("shared", "r1")}));
  enable("c1");
  EXPECT_TRUE(run("c1").empty());
  declare(Json::array({current_cluster("cr2")}));
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(run("c1").empty());
    EXPECT_EQ(bindings(), std::set<std::string>{"c1/open-cluster-management:hello:clusterrole:agent:cr2 cr2" + agent("c1")});
  }
}

TEST_F(HubRights, NeverDeleteABindingOfSomebodyElse) {
  declare(Json::array());
  enable("c1");
  objects.put(
      {{"apiVersion", "rbac.authorization.k8s.io/v1"},
       {"kind", "RoleBinding"},
       {"metadata",
        {{"name", "mine"},
         {"namespace", "c1"},
         {"labels", {{"open-cluster-management.io/addon-name", "hello"}, {"open-cluster-management.io/cluster-name", "c1"}}}}}});
  EXPECT_TRUE(run("c1").empty());
  EXPECT_EQ(bindings().size(), 1u);
}

TEST_F(HubRights, OfATokenDriverGoToTheServiceAccountWhateverTheAgentReports) {
  declare(Json::array({current_cluster("cr1")}));
  enable("c1", Json::array({{{"type", "kubeClient"},
                             {"kubeClient",
                              {{"driver", "token"}, {"subject", {{"user", "system:admin"}, {"groups", Json::array({"g"})}}}}}}}));
  EXPECT_TRUE(run("c1").empty());
  EXPECT_EQ(bindings(),
            std::set<std::string>{"c1/open-cluster-management:hello:clusterrole:agent cr1 system:serviceaccount:c1:hello-agent"});
}

TEST_F(HubRights, ATemplateWithASignerOfKubernetesIsRefused) {
  declare(Json::array());
  Json addon_template = *objects.get(addon_templates(), {}, "t1");
  addon_template["spec"]["registration"].push_back(
      {{"type", "CustomSigner"}, {"customSigner", {{"signerName", "kubernetes.io/kube-apiserver-client"}}}});
  objects.put(addon_template);
  enable("c1");
  EXPECT_EQ(run("c1").size(), 1u);
  const ObjectPtr addon = objects.get(managed_cluster_addons(), "c1", "hello");
  const Json* condition = controller::find_condition(*addon, "RegistrationApplied");
  ASSERT_NE(condition, nullptr);
  EXPECT_EQ(str(*condition, {"reason"}), "SetPermissionFailed");
  EXPECT_TRUE(list_at(*addon, {"status", "registrations"}).empty());
}

TEST_F(HubRights, ABindingOfSomebodyElseIsToldAndLeftAlone) {
  declare(Json::array({current_cluster("cr1")}));
  enable("c1");
  ASSERT_TRUE(run("c1").empty());
  const std::string name = "open-cluster-management:hello:clusterrole:agent";
  const Json ours = *objects.get(role_bindings(), "c1", name);
  Json theirs = ours;
  theirs["metadata"].erase("labels");
  objects.put(theirs);
  EXPECT_TRUE(run("c1").empty());
  EXPECT_EQ(*objects.get(role_bindings(), "c1", name), ours) << "it has only lost its labels";
  theirs["subjects"][0]["name"] = "somebody";
  objects.put(theirs);
  const std::string why =
      "RoleBinding c1/" + name + " exists and is not this add-on's: delete it so that the hub can make its own";
  EXPECT_EQ(run("c1"), std::vector<std::string>{why});
  EXPECT_EQ(*objects.get(role_bindings(), "c1", name), theirs);
  const ObjectPtr addon = objects.get(managed_cluster_addons(), "c1", "hello");
  const Json* condition = controller::find_condition(*addon, "RegistrationApplied");
  ASSERT_NE(condition, nullptr);
  EXPECT_EQ(str(*condition, {"reason"}), "SetPermissionFailed");
  EXPECT_EQ(str(*condition, {"message"}), "Failed to set permission for hub agent: " + why);
  objects.remove(role_bindings(), "c1", name);
  EXPECT_TRUE(run("c1").empty());
}

TEST(TokenInfrastructure, LeavesAServiceAccountOfSomebodyElse) {
  MemoryObjects objects;
  objects.put({{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "hello-agent"}, {"namespace", "c1"}}}});
  EXPECT_TRUE(token_pass(objects, "c1", "hello", {}, Semantics::kStrict).deleted.empty());
  EXPECT_EQ(token_pass(objects, "c1", "hello", {}, Semantics::kUpstream).deleted.size(), 3u);
}

TEST(TokenInfrastructure, TellsTheUidInItsMessage) {
  EXPECT_EQ(uid_in_message("ServiceAccount c1/hello-agent (UID: 123-4) is ready"), "123-4");
  EXPECT_EQ(uid_in_message("no uid"), "");
  EXPECT_EQ(uid_in_message("(UID: 12"), "");
}

}  // namespace
}  // namespace fleetadm::addon
