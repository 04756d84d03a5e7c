// The agent's ID is chosen when a cluster joins, and stays what it is.
#include "core/registration/join/agent_id.h"

#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/fake_api.h"

namespace fleetadm::join {
namespace {

class AgentIdTest : public ::testing::Test {
 protected:
  void put_agent(const std::vector<std::string>& args) {
    Json spec{{"template", {{"spec", {{"containers", Json::array({{{"name", "agent"}, {"args", args}}})}}}}}};
    api_->put(kube::resources::deployments(),
              {{"apiVersion", "apps/v1"},
               {"kind", "Deployment"},
               {"metadata", {{"name", std::string(api::kAgentDeployment)}, {"namespace", std::string(api::kAgentNamespace)}}},
               {"spec", std::move(spec)}});
  }
  void put_secret(const std::string& name, const std::string& id) {
    api_->put(kube::resources::secrets(), {{"apiVersion", "v1"},
                                           {"kind", "Secret"},
                                           {"metadata", {{"name", name}, {"namespace", std::string(api::kAgentNamespace)}}},
                                           {"data", {{"agent-name", base64_encode(id)}}}});
  }
  AgentId choose(const std::vector<std::string>& args = {}, bool fresh = true) {
    const auto id = choose_agent_id(api_->client(), args, fresh);
    EXPECT_TRUE(id) << id.error().message;
    return id.value_or(AgentId{"failed", "failed"});
  }

  std::shared_ptr<testkit::FakeApi> api_ = testkit::FakeApi::make();
};

TEST_F(AgentIdTest, IsChosenWithTheFirstInstallation) {
  const AgentId first = choose();
  EXPECT_EQ(first.id.size(), 5U);
  EXPECT_EQ(first.arg, "--agent-id=" + first.id);
  EXPECT_NE(choose().id, first.id);
  EXPECT_EQ(choose({}, false).id + choose({}, false).arg, "") << "a dry run tells none that would not be the one";
}

TEST_F(AgentIdTest, StaysAsTheInstalledAgentWasTold) {
  put_agent({"agent", "run", "--agent-id=x7k2p"});
  EXPECT_EQ(choose().id, "x7k2p");
  EXPECT_EQ(choose().arg, "--agent-id=x7k2p") << "joining again does not change the arguments";
  EXPECT_EQ(choose({"--agent-id=mine"}).id, "mine");
  EXPECT_EQ(choose({"--agent-id=mine"}).arg, "") << "it is among the arguments already";
}

TEST_F(AgentIdTest, OfAnAgentThatChoseItItselfIsTheStoredOne) {
  put_agent({"agent", "run"});
  EXPECT_EQ(choose().id + choose().arg, "") << "it has stored none yet, and gets no other one";
  put_secret(std::string(api::kHubKubeconfigSecret), "own");
  EXPECT_EQ(choose().id, "own");
  EXPECT_EQ(choose().arg, "");
  put_secret("elsewhere", "other");
  EXPECT_EQ(choose({"--hub-kubeconfig-secret=elsewhere"}).id, "other");
}

TEST_F(AgentIdTest, SecretsThatMayNotBeReadAreAnError) {
  api_->fail_next("get", "secrets", 403, "Forbidden");
  EXPECT_FALSE(choose_agent_id(api_->client(), {}, true));
}

}  // namespace
}  // namespace fleetadm::join
