// Commands in pods, on real servers: their Jobs are taken, act as their account and no more, and leave nothing. The node of this
// fleet shows no logs, so it is the exit codes that tell.
#include <gtest/gtest.h>

#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kPodSets = "/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets/";

class CommandsInPods : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(0, true));
    const Ran made = run({"init", "--context", "hub", "--wait"});
    ASSERT_EQ(made.code, 0) << made.both();
  }
  static Ran in_pod(const std::vector<std::string>& flags, const std::vector<std::string>& command,
                    const RunOptions& options = {}) {
    std::vector<std::string> args = {"in-pod", "--context", "hub", "--timeout", "60s"};
    args.insert(args.end(), flags.begin(), flags.end());
    args.emplace_back("--");
    args.insert(args.end(), command.begin(), command.end());
    return run(args, options);
  }
  /// What in-pod has made and not deleted.
  static std::vector<std::string> left() {
    std::vector<std::string> found;
    for (const char* path : {"/apis/batch/v1/jobs", "/api/v1/secrets", "/api/v1/serviceaccounts",
                             "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"}) {
      const Json list = fleet()->hub().get(std::string(path) + "?labelSelector=fleetadm.io%2Fin-pod");
      for (const Json& item : list_at(list, {"items"}))
        if (!is_deleting(item)) found.push_back(path + (" " + name_of(item)));
    }
    return found;
  }
};

TEST_F(CommandsInPods, ActAsTheAccountOfTheJobWithTheRolesThatItIsGiven) {
  const Ran refused = in_pod({}, {"clusterset", "create", "from-pod"});
  EXPECT_EQ(refused.code, 4) << refused.both();
  EXPECT_TRUE(fleet()->hub().get(std::string(kPodSets) + "from-pod").is_null());
  const Ran made = in_pod({"--cluster-role", "cluster-admin"}, {"clusterset", "create", "from-pod"});
  EXPECT_EQ(made.code, 0) << made.both();
  EXPECT_FALSE(fleet()->hub().get(std::string(kPodSets) + "from-pod").is_null());
  EXPECT_EQ(left(), std::vector<std::string>());
}

TEST_F(CommandsInPods, ReadTheFilesThatWereSentAlong) {
  RunOptions with_input;
  with_input.input = "{a: 1}";
  const std::vector<std::string> rule = {"cel", "eval", "--env", "condition", "object.a == 1", "-f", "-"};
  const Ran holds = in_pod({}, rule, with_input);
  EXPECT_EQ(holds.code, 0) << holds.both();
  const Ran identity = in_pod({}, {"clusterset", "create", "by-admin", "--kubeconfig", fleet()->hub().kubeconfig_file()});
  EXPECT_EQ(identity.code, 0) << identity.both();
  EXPECT_FALSE(fleet()->hub().get(std::string(kPodSets) + "by-admin").is_null()) << "as the kubeconfig's user";
  EXPECT_EQ(left(), std::vector<std::string>());
}

}  // namespace
}  // namespace fleetadm::testkit
