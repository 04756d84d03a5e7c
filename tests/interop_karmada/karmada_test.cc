// A member of a Karmada control plane, which dials it or has an agent on it, that a hub of ours dials; with upstream's own
// programs on Karmada's side (karmadactl, karmada-controller-manager, karmada-agent, and the types of its chart in the folder
// karmada-crds): neither takes anything from the other, whichever comes or leaves first. c1 is the member; c2 is Karmada's
// control plane.
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <thread>

#include "core/sandbox/node/child.h"
#include "kubeclient/base/yaml.h"
#include "tests/interop/peers.h"
#include "tests/support/push_fleet.h"
#include "tests/support/shell.h"

namespace fleetadm::testkit {
namespace {

using std::chrono::seconds;

constexpr const char* kTypes = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr const char* kKarmadaClusters = "/apis/cluster.karmada.io/v1alpha1/clusters";
constexpr const char* kAvailableCluster = "ManagedClusterConditionAvailable";

class KarmadaNeighbours : public PushFleet {
 protected:
  static std::optional<std::string> programs() {
    return peers_folder({"karmadactl", "karmada-controller-manager", "karmada-agent", "karmada-crds"});
  }
  static void SetUpTestSuite() {
    if (!KubeServer::programs() || !programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(2, false));
    ASSERT_NO_FATAL_FAILURE(begin_hub());
    ASSERT_NO_FATAL_FAILURE(begin_karmada());
  }
  static void TearDownTestSuite() {
    peers().reset();
    PushFleet::TearDownTestSuite();
  }
  void SetUp() override {
    if (!programs())
      GTEST_SKIP() << "FLEETADM_PEERS names no folder with Karmada's programs (karmadactl, karmada-controller-manager, "
                      "karmada-agent, karmada-crds)";
    PushFleet::SetUp();
  }
  static std::optional<Peers>& peers() {
    static std::optional<Peers> the_peers;
    return the_peers;
  }
  static KubeServer& member() { return fleet()->spoke(1); }
  static KubeServer& plane() { return fleet()->spoke(2); }

  /// Its type Cluster, which an aggregated server of its own serves otherwise.
  static Json cluster_type() {
    const Json anything{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
    const Json version{{"name", "v1alpha1"},
                       {"served", true},
                       {"storage", true},
                       {"subresources", {{"status", Json::object()}}},
                       {"schema", {{"openAPIV3Schema", anything}}}};
    const Json names{{"kind", "Cluster"}, {"listKind", "ClusterList"}, {"plural", "clusters"}, {"singular", "cluster"}};
    return {{"apiVersion", "apiextensions.k8s.io/v1"},
            {"kind", "CustomResourceDefinition"},
            {"metadata", {{"name", "clusters.cluster.karmada.io"}}},
            {"spec",
             {{"group", "cluster.karmada.io"}, {"scope", "Cluster"}, {"names", names}, {"versions", Json::array({version})}}}};
  }
  static void begin_karmada() {
    std::vector<Json> types{cluster_type()};
    for (const auto& entry : std::filesystem::recursive_directory_iterator(*programs() + "/karmada-crds")) {
      if (entry.path().extension() != ".yaml") continue;
      const auto documents = parse_yaml_documents(read_file(entry.path().string()));
      ASSERT_TRUE(documents) << entry.path() << ": " << documents.error().message;
      for (const YamlDocument& document : *documents) {
        if (str(document.value, {"kind"}) == "CustomResourceDefinition") types.push_back(document.value);
      }
    }
    for (const Json& type : types) {
      const auto made = plane().create(kTypes, type);
      ASSERT_EQ(made.status, 201) << name_of(type) << ": " << made.body;
    }
    ASSERT_TRUE(eventually([&] { return !plane().get(kKarmadaClusters).is_null(); }, seconds(30)));
    peers().emplace(fleet()->folder());
    const Status started = peers()->launch(
        "karmada", "karmada-controller-manager",
        {"--kubeconfig=" + plane().kubeconfig_file_for("karmada", {"system:masters"}), "--leader-elect=false",
         "--controllers=cluster,clusterStatus,execution,unifiedAuth", "--metrics-bind-address=127.0.0.1:" + port(),
         "--health-probe-bind-address=127.0.0.1:" + port(), "--cluster-status-update-frequency=2s",
         "--cluster-success-threshold=1s", "--cluster-failure-threshold=4s"},
        "karmada-system");
    ASSERT_TRUE(started) << started.error().message;
  }
  static std::string port() { return std::to_string(free_port()); }

  static Ran karmadactl(std::vector<std::string> args) {
    args.push_back("--kubeconfig=" + plane().kubeconfig_file());
    args.push_back("--cluster-kubeconfig=" + member().kubeconfig_file());
    std::string line = "HOME=" + fleet()->folder().path().string() + " exec " + *programs() + "/karmadactl";
    for (const std::string& arg : args) line += " '" + arg + "'";
    return run_shell(line, (fleet()->folder().path() / "karmadactl.err").string());
  }
  static void karmada_joins() {
    const Ran joined = karmadactl({"join", "k1"});
    ASSERT_EQ(joined.code, 0) << joined.both() << peers()->log("karmada");
    ASSERT_TRUE(karmada_is("True")) << dump_json(plane().get(std::string(kKarmadaClusters) + "/k1")) << peers()->log("karmada");
  }
  static void karmada_leaves() {
    const Ran left = karmadactl({"unjoin", "k1", "--cluster-context=" + current_context()});
    ASSERT_EQ(left.code, 0) << left.both() << peers()->log("karmada");
  }
  /// The member as k2, by an agent in the place of its pod.
  static void agent_joins() {
    const Status started = peers()->launch(
        "karmada-agent", "karmada-agent",
        {"--karmada-kubeconfig=" + plane().kubeconfig_file_for("karmada-agent", {"system:masters"}), "--cluster-name=k2",
         "--leader-elect=false", "--metrics-bind-address=127.0.0.1:" + port(), "--health-probe-bind-address=127.0.0.1:" + port(),
         "--cluster-status-update-frequency=2s", "--cluster-success-threshold=1s", "--cluster-failure-threshold=4s"},
        "karmada-system", {"KUBECONFIG=" + member().kubeconfig_file()});
    ASSERT_TRUE(started) << started.error().message;
    ASSERT_TRUE(karmada_is("True", "k2")) << peers()->log("karmada-agent");
  }
  static void agent_leaves() {
    const std::string line = "HOME=" + fleet()->folder().path().string() + " exec " + *programs() + "/karmadactl unregister k2" +
                             " --karmada-config=" + plane().kubeconfig_file() +
                             " --cluster-kubeconfig=" + member().kubeconfig_file();
    const Ran left = run_shell(line, (fleet()->folder().path() / "karmadactl.err").string());
    EXPECT_EQ(left.code, 0) << left.both() << peers()->log("karmada-agent");
    peers()->stop("karmada-agent");
  }
  /// karmadactl takes the cluster's name for that of the context, where none is given.
  static std::string current_context() {
    const auto kubeconfig = parse_yaml(read_file(member().kubeconfig_file()));
    return kubeconfig ? str(*kubeconfig, {"current-context"}) : "";
  }
  /// What Karmada says of the member.
  static bool karmada_is(const std::string& ready, const std::string& cluster = "k1") {
    const std::string path = std::string(kKarmadaClusters) + "/" + cluster;
    return eventually([&] { return condition(plane(), path, "Ready") == ready; }, seconds(60));
  }
  /// A few of its periods later, too.
  static bool karmada_stays_well(const std::string& cluster = "k1") {
    std::this_thread::sleep_for(seconds(8));
    return karmada_is("True", cluster);
  }
  static void we_join(const std::vector<std::string>& more = {}) {
    std::vector<std::string> args{"--cluster-name", "m1", "--wait=available"};
    args.insert(args.end(), more.begin(), more.end());
    const Ran joined = join("c1", args);
    ASSERT_EQ(joined.code, 0) << joined.both();
  }
  static void we_leave() {
    const Ran left = unjoin("m1", {"--allow-removals"});
    ASSERT_EQ(left.code, 0) << left.both();
  }
  /// The hub reaches it, and its works arrive there.
  static void expect_we_are_well(const std::string& map) {
    EXPECT_EQ(condition(fleet()->hub(), cluster_path("m1"), kAvailableCluster), "True");
    EXPECT_TRUE(ready_becomes("m1", "ClusterReady"));
    ASSERT_NO_FATAL_FAILURE(work("m1", map));
    EXPECT_TRUE(map_is(1, map, true));
  }
  /// Of the member, by name; the rights of Karmada and of ours among them.
  static std::map<std::string, Json> rights() {
    std::map<std::string, Json> found;
    for (const char* path :
         {"/apis/rbac.authorization.k8s.io/v1/clusterroles", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
          "/api/v1/namespaces", "/api/v1/namespaces/karmada-cluster/serviceaccounts",
          "/api/v1/namespaces/karmada-cluster/secrets"}) {
      for (Json object : list_at(member().get(path), {"items"})) {
        const std::string name = std::string(path) + "/" + name_of(object);
        erase_at(object, {"metadata", "managedFields"});
        erase_at(object, {"metadata", "resourceVersion"});
        found.emplace(name, std::move(object));
      }
    }
    return found;
  }
  /// What was there is as it was.
  static void expect_kept(const std::map<std::string, Json>& before, std::string_view what) {
    const auto now = rights();
    for (const auto& [name, object] : before) {
      if (name.find(what) == std::string::npos) continue;
      const auto at = now.find(name);
      ASSERT_NE(at, now.end()) << name << " is gone";
      EXPECT_EQ(at->second, object) << name;
    }
  }
};

TEST_F(KarmadaNeighbours, A_WeComeLaterAndLeaveFirst) {
  ASSERT_NO_FATAL_FAILURE(karmada_joins());
  const auto before = rights();
  ASSERT_NO_FATAL_FAILURE(we_join());
  EXPECT_NO_FATAL_FAILURE(expect_we_are_well("a"));
  EXPECT_TRUE(karmada_stays_well());
  EXPECT_NO_FATAL_FAILURE(expect_kept(before, "karmada"));
  ASSERT_NO_FATAL_FAILURE(we_leave());
  EXPECT_NO_FATAL_FAILURE(expect_kept(before, "karmada"));
  EXPECT_TRUE(karmada_stays_well());
}

// The namespace and an account are the same then.
TEST_F(KarmadaNeighbours, B_ByItsNamesToo) {
  const auto before = rights();
  ASSERT_NO_FATAL_FAILURE(we_join({"--karmada-names"}));
  EXPECT_NO_FATAL_FAILURE(expect_we_are_well("b"));
  EXPECT_TRUE(karmada_stays_well());
  ASSERT_NO_FATAL_FAILURE(we_leave());
  EXPECT_NO_FATAL_FAILURE(expect_kept(before, "karmada"));
  EXPECT_TRUE(karmada_stays_well());
}

TEST_F(KarmadaNeighbours, C_ItLeavesFirst) {
  ASSERT_NO_FATAL_FAILURE(we_join());
  const auto before = rights();
  ASSERT_NO_FATAL_FAILURE(karmada_leaves());
  EXPECT_TRUE(member().get("/apis/rbac.authorization.k8s.io/v1/clusterroles/karmada-controller-manager:karmada-k1").is_null());
  EXPECT_NO_FATAL_FAILURE(expect_kept(before, "fleetadm"));
  EXPECT_NO_FATAL_FAILURE(expect_we_are_well("c"));
}

TEST_F(KarmadaNeighbours, D_ItComesLaterAndLeavesFirst) {
  ASSERT_TRUE(eventually([&] { return member().get("/api/v1/namespaces/karmada-cluster").is_null(); }, seconds(60)));
  const auto before = rights();
  ASSERT_NO_FATAL_FAILURE(karmada_joins());
  EXPECT_NO_FATAL_FAILURE(expect_we_are_well("d"));
  ASSERT_NO_FATAL_FAILURE(karmada_leaves());
  EXPECT_NO_FATAL_FAILURE(expect_kept(before, "fleetadm"));
  ASSERT_NO_FATAL_FAILURE(we_leave());
}

// Its unjoin takes the whole namespace away, with whatever others have there. That is told, and mended by joining again.
TEST_F(KarmadaNeighbours, E_ByItsNamesWeLoseTheNamespaceThatItTakesAway) {
  ASSERT_TRUE(eventually([&] { return member().get("/api/v1/namespaces/karmada-cluster").is_null(); }, seconds(60)));
  ASSERT_NO_FATAL_FAILURE(we_join({"--karmada-names"}));
  ASSERT_NO_FATAL_FAILURE(karmada_joins());
  ASSERT_NO_FATAL_FAILURE(karmada_leaves());
  EXPECT_TRUE(ready_becomes("m1", "CredentialRefused"));
  ASSERT_TRUE(eventually([&] { return member().get("/api/v1/namespaces/karmada-cluster").is_null(); }, seconds(60)));
  ASSERT_NO_FATAL_FAILURE(we_join({"--karmada-names"}));
  EXPECT_NO_FATAL_FAILURE(expect_we_are_well("e"));
  ASSERT_NO_FATAL_FAILURE(we_leave());
}

TEST_F(KarmadaNeighbours, F_ItsAgentIsThereAndWeComeAndLeave) {
  ASSERT_NO_FATAL_FAILURE(agent_joins());
  const auto before = rights();
  ASSERT_NO_FATAL_FAILURE(we_join());
  EXPECT_NO_FATAL_FAILURE(expect_we_are_well("f"));
  EXPECT_TRUE(karmada_stays_well("k2"));
  EXPECT_NO_FATAL_FAILURE(expect_kept(before, "karmada"));
  ASSERT_NO_FATAL_FAILURE(we_leave());
  EXPECT_NO_FATAL_FAILURE(expect_kept(before, "karmada"));
  EXPECT_TRUE(karmada_stays_well("k2"));
}

TEST_F(KarmadaNeighbours, G_ItsAgentLeavesFirst) {
  ASSERT_NO_FATAL_FAILURE(we_join());
  const auto before = rights();
  ASSERT_NO_FATAL_FAILURE(agent_leaves());
  EXPECT_NO_FATAL_FAILURE(expect_kept(before, "fleetadm"));
  EXPECT_NO_FATAL_FAILURE(expect_we_are_well("g"));
  ASSERT_NO_FATAL_FAILURE(we_leave());
}

TEST_F(KarmadaNeighbours, H_ItsAgentComesToUsAndLeavesFirst) {
  ASSERT_NO_FATAL_FAILURE(we_join());
  const auto before = rights();
  ASSERT_NO_FATAL_FAILURE(agent_joins());
  EXPECT_TRUE(karmada_stays_well("k2"));
  EXPECT_NO_FATAL_FAILURE(expect_we_are_well("h"));
  ASSERT_NO_FATAL_FAILURE(agent_leaves());
  EXPECT_NO_FATAL_FAILURE(expect_kept(before, "fleetadm"));
  EXPECT_NO_FATAL_FAILURE(expect_we_are_well("i"));
  ASSERT_NO_FATAL_FAILURE(we_leave());
}

}  // namespace
}  // namespace fleetadm::testkit
