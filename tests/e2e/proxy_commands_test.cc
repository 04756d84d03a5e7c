// The commands that reach clusters through the gateway, on real servers: as people and scripts use them.
#include <gtest/gtest.h>

#include "kubeclient/base/yaml.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kRbacGroup = "/apis/rbac.authorization.k8s.io/v1";
constexpr std::string_view kMemberMaps = "/api/v1/namespaces/default/configmaps";

class ProxyCommands : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, true));
    const Ran made = run({"init", "--context", "hub", "--gateway", "--wait", "-o", "json"});
    ASSERT_EQ(made.code, 0) << made.both();
    ASSERT_EQ(run(join_args(made.json())).code, 0);
    const Ran accepted = run({"accept", "c1", "--context", "hub", "--yes", "--wait"});
    ASSERT_EQ(accepted.code, 0) << accepted.both();
    grant(fleet()->hub(), "use-clusters",
          {{"apiGroups", {"proxy.open-cluster-management.io"}}, {"resources", {"clusters/proxy"}}, {"verbs", {"*"}}});
    grant(
        fleet()->hub(), "see-clusters",
        {{"apiGroups", {"cluster.open-cluster-management.io"}}, {"resources", {"managedclusters"}}, {"verbs", {"get", "list"}}});
    grant(member(), "edit-maps", {{"apiGroups", {""}}, {"resources", {"configmaps"}}, {"verbs", {"*"}}});
    ASSERT_EQ(
        member()
            .create(std::string(kMemberMaps), {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "proxied"}}}})
            .status,
        201);
    kubeconfig() = fleet()->hub().kubeconfig_file_for("alice");
  }
  static const KubeServer& member() { return fleet()->spoke(1); }
  /// The rule for alice, everywhere on a server.
  static void grant(const KubeServer& server, const std::string& name, const Json& rule) {
    const std::string rbac(kRbacGroup);
    ASSERT_EQ(server
                  .create(rbac + "/clusterroles", {{"apiVersion", "rbac.authorization.k8s.io/v1"},
                                                   {"kind", "ClusterRole"},
                                                   {"metadata", {{"name", name}}},
                                                   {"rules", Json::array({rule})}})
                  .status,
              201);
    ASSERT_EQ(server
                  .create(rbac + "/clusterrolebindings",
                          {{"apiVersion", "rbac.authorization.k8s.io/v1"},
                           {"kind", "ClusterRoleBinding"},
                           {"metadata", {{"name", name}}},
                           {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", name}}},
                           {"subjects",
                            Json::array({{{"kind", "User"}, {"apiGroup", "rbac.authorization.k8s.io"}, {"name", "alice"}}})}})
                  .status,
              201);
  }
  static std::string& kubeconfig() {
    static std::string file;
    return file;
  }
  static Ran as_alice(std::vector<std::string> args, const RunOptions& options = {}) {
    args.insert(args.begin(), {"--kubeconfig", kubeconfig()});
    return run(args, options);
  }
};

TEST_F(ProxyCommands, A_HealthBecomesGoodOnceTheRightsHaveArrived) {
  Ran last;
  EXPECT_TRUE(eventually(
      [&] {
        return (last = as_alice({"proxy", "health", "-o", "json"})).code == 0;
      },
      std::chrono::seconds(60)))
      << last.both();
  EXPECT_EQ(str(list_at(last.json(), {"items"}).front(), {"status"}), "Healthy");
}

TEST_F(ProxyCommands, B_GetReadsWhatTheMemberAllows) {
  const Ran got = as_alice({"get", "cm", "--all-clusters", "-o", "name"});
  EXPECT_EQ(got.code, 0) << got.both();
  EXPECT_NE(got.out.find("c1/configmap/proxied\n"), std::string::npos) << got.out;
  const Ran table = as_alice({"get", "configmaps/proxied", "--cluster", "c1"});
  EXPECT_NE(table.out.find("CLUSTER   NAME      DATA   AGE"), std::string::npos) << table.out;
  const Ran refused = as_alice({"get", "secrets", "--all-clusters"});
  EXPECT_EQ(refused.code, 4) << refused.both();
  EXPECT_NE(refused.err.find("User \"alice\" cannot list resource \"secrets\""), std::string::npos) << refused.err;
}

TEST_F(ProxyCommands, C_AClusterWithoutAnAgentIsNamedAndTheOthersAreShown) {
  ASSERT_EQ(fleet()
                ->hub()
                .create("/apis/cluster.open-cluster-management.io/v1/managedclusters",
                        {{"apiVersion", "cluster.open-cluster-management.io/v1"},
                         {"kind", "ManagedCluster"},
                         {"metadata", {{"name", "c9"}}},
                         {"spec", {{"hubAcceptsClient", true}}}})
                .status,
            201);
  const Ran got = as_alice({"get", "cm", "--all-clusters", "-o", "name"});
  EXPECT_EQ(got.code, 3) << got.both();
  EXPECT_NE(got.out.find("c1/configmap/proxied\n"), std::string::npos) << got.out;
  EXPECT_NE(got.err.find("c9"), std::string::npos) << got.err;
  const Ran health = as_alice({"proxy", "health", "-o", "json"});
  EXPECT_EQ(health.code, 3) << health.both();
  EXPECT_EQ(str(list_at(health.json(), {"items"}).back(), {"hop"}), "tunnel") << health.out;
}

TEST_F(ProxyCommands, D_OtherProgramsReachTheClusterWithTheirOwnKubeconfig) {
  const Ran printed = as_alice({"proxy", "kubeconfig", "--cluster", "c1"});
  ASSERT_EQ(printed.code, 0) << printed.both();
  const std::string file = fleet()->folder().write("member.kubeconfig", printed.out);
  const Ran version = run({"version", "--kubeconfig", file, "-o", "json"});
  EXPECT_EQ(version.code, 0) << version.both();
}

TEST_F(ProxyCommands, E_AProgramInKubectlsPlaceGetsAConnectionThatWorks) {
  // What stands for kubectl is this program: it reads the kubeconfig that it is given, from where it is.
  const Ran ran = as_alice({"proxy", "kubectl", "--cluster", "c1", "--", "version", "-o", "json"},
                           {.environment = {{"FLEETADM_KUBECTL", Fleet::binary()}}});
  EXPECT_EQ(ran.code, 0) << ran.both();
  EXPECT_EQ(str(ran.json(), {"kind"}), "Version") << ran.both();
}

TEST_F(ProxyCommands, F_NothingSecretIsPrintedHoweverMuchIs) {
  const Json config = parse_yaml(read_file(kubeconfig())).value_or(Json());
  const std::string key = str(list_at(config, {"users"}).front(), {"user", "client-key-data"});
  ASSERT_FALSE(key.empty());
  for (const std::vector<std::string>& args : {std::vector<std::string>{"proxy", "health"},
                                               {"get", "cm", "--cluster", "c1"},
                                               {"proxy", "kubectl", "--cluster", "c1", "--", "version", "-v", "9"},
                                               {"get", "secrets", "--cluster", "c1"}}) {
    std::vector<std::string> loud = args;
    loud.insert(loud.begin(), {"-v", "9"});
    const Ran ran = as_alice(loud, {.environment = {{"FLEETADM_KUBECTL", Fleet::binary()}}});
    EXPECT_FALSE(ran.err.empty()) << args.front() << " " << args[1];
    for (const std::string& secret : {key, std::string("PRIVATE KEY"), std::string("Bearer ey"), std::string("client-key-data")})
      EXPECT_EQ(ran.both().find(secret), std::string::npos) << args[1] << "\n" << ran.both();
  }
}

}  // namespace
}  // namespace fleetadm::testkit
