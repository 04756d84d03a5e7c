// Two members that run nothing: one process beside the hub has an agent for each.
#include <algorithm>
#include <gtest/gtest.h>

#include "kubeclient/base/encoding.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

const std::string kMemberSecrets = "/api/v1/namespaces/members/secrets";

class Hosted : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(2, false));
    const Ran init = fleet()->run({"init", "--context", "hub", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
    ASSERT_NO_FATAL_FAILURE(start_controllers());
    make("/api/v1/namespaces", {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "members"}}}});
    secret("bootstrap-hub-kubeconfig", fleet()->hub().kubeconfig_with_token(str(init.json(), {"hub-token"})));
    for (int i = 1; i <= 2; ++i) {
      // What an agent needs on its cluster: here, without a node, the Deployment that comes with it stays without a pod.
      const std::string name = "c" + std::to_string(i);
      auto args = join_args(init.json());
      std::replace(args.begin(), args.end(), std::string("c1"), name);
      const Ran join = fleet()->run(args);
      ASSERT_EQ(join.code, 0) << join.both();
      secret("member-" + name, fleet()->spoke(i).kubeconfig(), name);
    }
    sandbox::ChildSpec spec;
    spec.program = Fleet::binary();
    spec.args = {"agent",
                 "run",
                 "--hosted-from=members",
                 "--work-service-account=fleetadm-agent-work",
                 "--kubeconfig",
                 fleet()->hub().kubeconfig_file()};
    spec.environment = {"HOME=" + fleet()->folder().path().string(), "PATH=/usr/bin:/bin"};
    spec.output_file = log_file();
    auto child = sandbox::Child::start(spec);
    ASSERT_TRUE(child) << child.error().message;
    process().emplace(std::move(*child));
  }
  static void TearDownTestSuite() {
    process().reset();
    FleetTest::TearDownTestSuite();
  }
  static std::optional<sandbox::Child>& process() {
    static std::optional<sandbox::Child> child;
    return child;
  }
  static std::string log_file() { return (fleet()->folder().path() / "hosted.log").string(); }

  static void make(std::string_view collection, const Json& object) {
    const auto made = fleet()->hub().create(collection, object);
    ASSERT_EQ(made.status, 201) << made.body;
  }
  /// With a member's name: the Secret of this member.
  static void secret(const std::string& name, const std::string& kubeconfig, const std::string& member = {}) {
    Json object{{"apiVersion", "v1"},
                {"kind", "Secret"},
                {"metadata", {{"name", name}, {"namespace", "members"}}},
                {"data", {{"kubeconfig", base64_encode(kubeconfig)}}}};
    if (!member.empty()) object["metadata"]["labels"] = {{"fleetadm.io/hosted-member", member}};
    make(kMemberSecrets, object);
  }
  static void work(const std::string& cluster, const std::string& name) {
    make("/apis/work.open-cluster-management.io/v1/namespaces/" + cluster + "/manifestworks",
         {{"apiVersion", "work.open-cluster-management.io/v1"},
          {"kind", "ManifestWork"},
          {"metadata", {{"name", name}, {"namespace", cluster}}},
          {"spec",
           {{"workload",
             {{"manifests", Json::array({{{"apiVersion", "v1"},
                                          {"kind", "ConfigMap"},
                                          {"metadata", {{"name", name}, {"namespace", "default"}}}}})}}}}}});
  }
  static bool has_map(int spoke, const std::string& name) {
    return eventually([&] { return !fleet()->spoke(spoke).get("/api/v1/namespaces/default/configmaps/" + name).is_null(); });
  }
};

TEST_F(Hosted, A_BothMembersJoinAndTakeWorks) {
  const Ran accept = fleet()->run({"accept", "--context", "hub", "c1", "c2", "--wait=available", "--yes"});
  ASSERT_EQ(accept.code, 0) << accept.both() << read_file(log_file());
  work("c1", "first");
  work("c2", "first");
  EXPECT_TRUE(has_map(1, "first"));
  EXPECT_TRUE(has_map(2, "first"));
  for (const char* name : {"c1-hub-kubeconfig-secret", "c2-hub-kubeconfig-secret"})
    EXPECT_FALSE(fleet()->hub().get(kMemberSecrets + "/" + name).is_null()) << name;
  EXPECT_TRUE(fleet()->spoke(1).get("/api/v1/namespaces/open-cluster-management-agent/secrets/hub-kubeconfig-secret").is_null());
}

TEST_F(Hosted, B_AMemberThatIsAwayCostsTheOtherNothing) {
  fleet()->spoke(1).freeze();  // of real servers; the sandbox's share a process
  if (KubeServer::on_sandbox()) fleet()->spoke(1).stop_apiserver();
  const auto begun = std::chrono::steady_clock::now();
  work("c2", "second");
  EXPECT_TRUE(has_map(2, "second"));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
  fleet()->spoke(1).thaw();
  EXPECT_TRUE(fleet()->spoke(1).start_apiserver());
  work("c1", "second");
  EXPECT_TRUE(has_map(1, "second"));
}

TEST_F(Hosted, C_AMemberGoesWithItsSecretAndComesBackWithIt) {
  const Json kept = fleet()->hub().get(kMemberSecrets + "/member-c2");
  ASSERT_LT(fleet()->hub().request("DELETE", kMemberSecrets + "/member-c2").status, 300);
  EXPECT_TRUE(eventually([] { return read_file(log_file()).find("hosted member c2 ends") != std::string::npos; }));
  work("c2", "third");
  std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_TRUE(fleet()->spoke(2).get("/api/v1/namespaces/default/configmaps/third").is_null());
  secret("member-c2", base64_decode(str(kept, {"data", "kubeconfig"})).value(), "c2");
  EXPECT_TRUE(has_map(2, "third"));
}

}  // namespace
}  // namespace fleetadm::testkit
