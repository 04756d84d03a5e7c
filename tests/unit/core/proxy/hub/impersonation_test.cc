// Whom agents may act as: derived from the hub's bindings, and shipped.
#include "core/proxy/hub/impersonation.h"

#include <gtest/gtest.h>

#include "core/api/gateway.h"
#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/controller/worker_pool.h"
#include "core/proxy/hub/impersonation_controller.h"
#include "tests/support/fake_api.h"

namespace fleetadm::proxy {
namespace {

using namespace std::chrono_literals;
namespace types = kube::resources;

Json granting_role(const std::string& name, const Json& rule) {
  return {{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", "ClusterRole"},
          {"metadata", {{"name", name}}},
          {"rules", Json::array({{{"apiGroups", {""}}, {"resources", {"pods"}}, {"verbs", {"get"}}}, rule})}};
}
Json proxy_rule(const std::vector<std::string>& clusters = {}) {
  Json rule{{"apiGroups", {"proxy.open-cluster-management.io"}}, {"resources", {"clusters/proxy"}}, {"verbs", {"get", "create"}}};
  if (!clusters.empty()) rule["resourceNames"] = clusters;
  return rule;
}
Json granting_binding(const std::string& name, const std::string& role, const Json& subjects) {
  return {{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", "ClusterRoleBinding"},
          {"metadata", {{"name", name}}},
          {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", role}}},
          {"subjects", subjects}};
}
Json subject(const std::string& kind, const std::string& name, const std::string& ns = {}) {
  Json one{{"kind", kind}, {"name", name}};
  if (!ns.empty()) one["namespace"] = ns;
  return one;
}

TEST(ProxyGrants, ARoleThatNamesOneClusterOpensNoOther) {
  const auto grants = proxy_grants(
      {granting_role("one", proxy_rule({"c1"})), granting_role("all", proxy_rule()), granting_role("none", Json::object())},
      {granting_binding("a", "one", Json::array({subject("User", "alice")})),
       granting_binding("b", "all", Json::array({subject("User", "bob")})),
       granting_binding("c", "none", Json::array({subject("User", "carol")})),
       granting_binding("d", "gone", Json::array({subject("User", "dave")}))});
  EXPECT_EQ(impersonation_at(grants, "c1").users, (std::set<std::string>{"alice", "bob"}));
  EXPECT_EQ(impersonation_at(grants, "c2").users, (std::set<std::string>{"bob"}));
  EXPECT_FALSE(impersonation_at(grants, "c1").any_user);
  EXPECT_TRUE(impersonation_at(grants, "c1").groups.empty());
}

TEST(ProxyGrants, WildcardsCountAndReservedNamesDoNot) {
  const Json everything{{"apiGroups", {"*"}}, {"resources", {"*"}}, {"verbs", {"*"}}};
  const auto grants =
      proxy_grants({granting_role("admin", everything)},
                   {granting_binding("a", "admin",
                                     Json::array({subject("Group", "system:masters"), subject("Group", "system:nodes"),
                                                  subject("User", "system:kube-controller-manager"),
                                                  subject("User", "cluster:hub:system:serviceaccount:a:b")}))});
  EXPECT_TRUE(impersonation_at(grants, "c1").empty());
  for (const char* resource : {"clusters", "clusters/status", "managedclusters/proxy"}) {
    Json other = proxy_rule();
    other["resources"] = Json::array({resource});
    EXPECT_FALSE(clusters_of_role(granting_role("x", other))) << resource;
  }
  Json elsewhere = proxy_rule();
  elsewhere["apiGroups"] = Json::array({"cluster.open-cluster-management.io"});
  EXPECT_FALSE(clusters_of_role(granting_role("x", elsewhere)));
}

TEST(ProxyGrants, TheControlPlanesOwnComponentsAreNobodyAtMembers) {
  const Json everything{{"apiGroups", {"*"}}, {"resources", {"*"}}, {"verbs", {"*"}}};
  Json bootstrapped = granting_binding("collector", "admin",
                                       Json::array({subject("ServiceAccount", "generic-garbage-collector", "kube-system")}));
  bootstrapped["metadata"]["labels"] = {{"kubernetes.io/bootstrapping", "rbac-defaults"}};
  const auto grants = proxy_grants(
      {granting_role("admin", everything)},
      {bootstrapped, granting_binding("mine", "admin", Json::array({subject("ServiceAccount", "ci", "kube-system")}))});
  EXPECT_EQ(impersonation_at(grants, "c1").users, (std::set<std::string>{"cluster:hub:system:serviceaccount:kube-system:ci"}));
}

TEST(ProxyGrants, AccountsOfOneNameInTwoNamespacesStayApart) {
  const Impersonation who =
      subjects_of_binding(granting_binding("a", "r", Json::array({subject("ServiceAccount", "ci", "one")})));
  EXPECT_EQ(who.users, std::set<std::string>{"cluster:hub:system:serviceaccount:one:ci"});
  EXPECT_EQ(who.groups, (std::set<std::string>{"cluster:hub:system:serviceaccounts", "cluster:hub:system:serviceaccounts:one"}));
  EXPECT_FALSE(who.any_user);
}

TEST(ProxyGrants, AGroupsMembersHaveNamesThatNobodyKnows) {
  const Impersonation dev = subjects_of_binding(granting_binding("a", "r", Json::array({subject("Group", "dev")})));
  EXPECT_EQ(dev.groups, std::set<std::string>{"dev"});
  EXPECT_TRUE(dev.any_user);
  const Impersonation accounts =
      subjects_of_binding(granting_binding("a", "r", Json::array({subject("Group", "system:serviceaccounts:ci")})));
  EXPECT_EQ(accounts.groups, std::set<std::string>{"cluster:hub:system:serviceaccounts:ci"});
  const Impersonation all =
      subjects_of_binding(granting_binding("a", "r", Json::array({subject("Group", "system:authenticated")})));
  EXPECT_TRUE(all.any_user);
  EXPECT_TRUE(all.groups.empty());
}

TEST(ImpersonationRole, SaysWhatItWasMadeFrom) {
  Impersonation named;
  named.users = {"alice", "cluster:hub:system:serviceaccount:a:b"};
  named.groups = {"dev"};
  Impersonation any;
  any.any_user = true;
  Impersonation many;
  for (std::size_t i = 0; i <= kMostNames; ++i) {
    Impersonation one;
    one.users = {"user-" + std::to_string(i)};
    many.add(one);
  }
  EXPECT_TRUE(many.any_user) << "an object must stay small enough to be stored";
  for (const Impersonation& who : {named, any, many, Impersonation{}}) {
    EXPECT_EQ(read_impersonation({{"rules", impersonation_rules(who)}}), who);
  }
}

TEST(ImpersonationRole, LimitsACallersGroups) {
  Impersonation who;
  who.users = {"alice"};
  who.groups = {"dev"};
  Caller alice;
  alice.name = "alice";
  alice.groups = {"ops", "dev"};
  EXPECT_EQ(limit_caller(alice, who).value().groups, std::vector<std::string>{"dev"});
  alice.name = "bob";
  const auto refused = limit_caller(alice, who);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 403);
}

class ImpersonationControllerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"c1", "c2", "asking"}) {
      api->put(api::managed_clusters(), {{"apiVersion", "cluster.open-cluster-management.io/v1"},
                                         {"kind", "ManagedCluster"},
                                         {"metadata", {{"name", name}}},
                                         {"spec", {{"hubAcceptsClient", std::string(name) != "asking"}}}});
    }
    api->put(types::cluster_roles(), granting_role("proxy-c1", proxy_rule({"c1"})));
    api->put(types::cluster_roles(), granting_role("proxy-all", proxy_rule()));
    publish();
    add_impersonation_controller(manager, api->client(), "0123456789");
    ASSERT_TRUE(manager.start());
  }
  void publish() const {
    api->put(types::config_maps(), {{"apiVersion", "v1"},
                                    {"kind", "ConfigMap"},
                                    {"metadata", {{"name", api::kGatewayConfigMap}, {"namespace", api::kHubNamespace}}},
                                    {"data", api::gateway_data({"https://g:1", {"g:2"}, "ca"})}});
  }
  std::optional<Json> work(const std::string& cluster) const {
    return api->get(api::manifest_works(), cluster, kImpersonationWork);
  }
  Impersonation shipped(const std::string& cluster) const {
    const auto live = work(cluster);
    return live ? read_impersonation(list_at(*live, {"spec", "workload", "manifests"}).front()) : Impersonation{};
  }
  template <class Holds>
  static bool eventually(const Holds& holds) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!holds() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(5ms);
    return holds();
  }

  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make();
  controller::Manager manager{controller::Manager::Options{.threads = 2, .pool = std::make_shared<controller::WorkerPool>(2)}};
};

TEST_F(ImpersonationControllerTest, ShipsWhatIsGrantedAndTakesItBack) {
  api->put(types::cluster_role_bindings(), granting_binding("a", "proxy-c1", Json::array({subject("User", "alice")})));
  ASSERT_TRUE(eventually([&] { return shipped("c1").users.contains("alice"); }));
  EXPECT_FALSE(work("c2"));
  api->put(types::cluster_role_bindings(), granting_binding("b", "proxy-all", Json::array({subject("User", "bob")})));
  ASSERT_TRUE(eventually([&] { return shipped("c2").users.contains("bob") && shipped("c1").users.size() == 2; }));
  EXPECT_FALSE(work("asking")) << "a cluster that nobody accepted";

  api->forget_calls();
  api->put(types::cluster_roles(), granting_role("unrelated", Json::object()));
  std::this_thread::sleep_for(1200ms);
  EXPECT_EQ(api->write_count(), 0) << "nothing is written where nothing changed";

  ASSERT_TRUE(api->erase(types::cluster_role_bindings(), "", "b"));
  EXPECT_TRUE(eventually([&] { return !work("c2") && shipped("c1").users == std::set<std::string>{"alice"}; }));
  ASSERT_TRUE(api->erase(types::config_maps(), api::kHubNamespace, api::kGatewayConfigMap));
  EXPECT_TRUE(eventually([&] { return !work("c1"); })) << "without a gateway nobody needs rights";
}

TEST_F(ImpersonationControllerTest, AtAClusterThatTheHubDialsItsOwnAccountGetsTheRights) {
  api->put(types::cluster_role_bindings(), granting_binding("a", "proxy-all", Json::array({subject("User", "alice")})));
  ASSERT_TRUE(eventually([&] { return work("c2").has_value(); }));
  Json cluster = api->get(api::managed_clusters(), "", "c2").value();
  cluster["metadata"]["labels"] = {{std::string(api::kModeLabel), std::string(api::kPushMode)}};
  api->put(api::managed_clusters(), cluster);
  const auto of_push = [&] { return api->get(api::manifest_works(), "c2", kPushImpersonationWork); };
  ASSERT_TRUE(eventually([&] { return of_push().has_value() && !work("c2"); })) << "there is no agent";
  EXPECT_EQ(granted_by_work(*of_push()).users, std::set<std::string>{"alice"});
  const auto manifests = list_at(*of_push(), {"spec", "workload", "manifests"});
  ASSERT_EQ(manifests.size(), 2);
  for (const Json& manifest : manifests) EXPECT_EQ(name_of(manifest), "open-cluster-management:fleetadm-push-01234567:proxy");
  const Json bound = list_at(manifests[1], {"subjects"}).front();
  EXPECT_EQ(str(bound, {"namespace"}) + "/" + str(bound, {"name"}), "fleetadm-push-01234567/fleetadm-push");
  EXPECT_TRUE(work("c1")) << "its agent keeps its own";
  cluster = api->get(api::managed_clusters(), "", "c2").value();
  cluster["metadata"]["annotations"] = {{std::string(api::kMemberNamesAnnotation), std::string(api::kKarmadaNames)}};
  api->put(api::managed_clusters(), cluster);
  EXPECT_TRUE(eventually([&] {
    const auto now = list_at(*of_push(), {"spec", "workload", "manifests"});
    const Json subject_now = list_at(now[1], {"subjects"}).front();
    return str(subject_now, {"namespace"}) + "/" + str(subject_now, {"name"}) == "karmada-cluster/karmada-c2";
  })) << "by the names that it has there";
  ASSERT_TRUE(api->erase(types::cluster_role_bindings(), "", "a"));
  EXPECT_TRUE(eventually([&] { return !of_push(); }));
}

TEST_F(ImpersonationControllerTest, LeavesAWorkOfThatNameThatIsSomebodysOwn) {
  const Json own = api->put(api::manifest_works(), {{"apiVersion", "work.open-cluster-management.io/v1"},
                                                    {"kind", "ManifestWork"},
                                                    {"metadata", {{"name", kImpersonationWork}, {"namespace", "c1"}}}});
  api->put(types::cluster_role_bindings(), granting_binding("a", "proxy-all", Json::array({subject("User", "alice")})));
  ASSERT_TRUE(eventually([&] { return shipped("c2").users.contains("alice"); })) << "the others get theirs";
  EXPECT_EQ(*work("c1"), own);
}

}  // namespace
}  // namespace fleetadm::proxy
