// Which containers share the sandbox's process, and which need one of their own.
#include "commands/sandbox/hosting.h"

#include <gtest/gtest.h>

#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {
namespace {

class HostingTest : public ::testing::Test {
 protected:
  /// Null: it becomes a process. Without the variables of a pod, what would be hosted is refused.
  Result<std::unique_ptr<sandbox::HostedProgram>> host(std::vector<std::string> args, std::vector<std::string> environment = {}) {
    sandbox::ChildSpec spec;
    spec.args = std::move(args);
    spec.environment = std::move(environment);
    return hosting(context_)(spec, std::make_shared<controller::WorkerPool>(1));
  }
  bool becomes_a_process(std::vector<std::string> args, std::vector<std::string> environment = {}) {
    const auto hosted = host(std::move(args), std::move(environment));
    return hosted && *hosted == nullptr;
  }

  testkit::FakeContext context_{testkit::FakeApi::make()->client()};
};

TEST_F(HostingTest, AnAgentOfThePodsOwnClusterIsHosted) {
  const auto hosted = host({"agent", "run", "--cluster-name=c1", "--health-address=:8000"});
  ASSERT_FALSE(hosted);
  EXPECT_NE(hosted.error().message.find("KUBERNETES_SERVICE_HOST"), std::string::npos) << hosted.error().message;
}

// A kubeconfig may name programs, which the environment of a process forbids; this process's own does not.
TEST_F(HostingTest, KubeconfigsNeedAProcess) {
  EXPECT_TRUE(becomes_a_process({"agent", "run", "--cluster-name=c1"}, {"KUBECONFIG=/config"}));
  EXPECT_TRUE(becomes_a_process({"agent", "run", "--cluster-name=c1", "--kubeconfig=/config"}));
  EXPECT_TRUE(becomes_a_process({"agent", "run", "--cluster-name=c1", "--bootstrap-kubeconfig=/config"}));
}

TEST_F(HostingTest, OtherCommandsAndFormsNeedAProcess) {
  EXPECT_TRUE(becomes_a_process({}));
  EXPECT_TRUE(becomes_a_process({"hub", "run"}));
  EXPECT_TRUE(becomes_a_process({"agent", "run", "--cluster-name", "c1"}));
  EXPECT_TRUE(becomes_a_process({"agent", "run", "--no-such-flag=1"}));
  EXPECT_TRUE(becomes_a_process({"agent", "run", "--leader-elect=true"}));
}

TEST_F(HostingTest, AWrongValueIsToldWithItsFlag) {
  const auto hosted = host({"agent", "run", "--cluster-healthcheck-period=soon"});
  ASSERT_FALSE(hosted);
  EXPECT_NE(hosted.error().message.find("--cluster-healthcheck-period"), std::string::npos) << hosted.error().message;
}

}  // namespace
}  // namespace fleetadm::commands
