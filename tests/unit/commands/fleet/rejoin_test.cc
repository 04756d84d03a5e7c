// rejoin: what it refuses before anything is written.
#include "core/registration/rejoin/rejoin.h"

#include <gtest/gtest.h>

#include "commands/fleet/fleet.h"
#include "core/api/kinds.h"
#include "core/work/rules/names.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {
namespace {

namespace r = kube::resources;

class RejoinCommand : public testing::Test {
 protected:
  using Flags = std::vector<std::pair<std::string, std::string>>;

  RejoinCommand() { register_rejoin(registry); }
  Result<Report> run(const Flags& more = {}) {
    Flags flags{{"hub-context", "hub"}};
    flags.insert(flags.end(), more.begin(), more.end());
    return testkit::run_command(registry, "rejoin", context, flags, {});
  }
  /// A cluster that applied a work which its hub does not have.
  void restore_an_old_hub() {
    registration::agent::Endpoint endpoint;
    endpoint.entry = "bootstrap";
    endpoint.server = "https://hub.invalid";
    const auto secret = [&](const std::string& name, const std::string& key, const std::string& value) {
      api->put(r::secrets(), {{"metadata", {{"name", name}, {"namespace", std::string(api::kAgentNamespace)}}},
                              {"data", {{key, base64_encode(value)}}}});
    };
    secret("bootstrap-hub-kubeconfig", "kubeconfig", registration::rejoin::bootstrap_kubeconfig(endpoint, "t"));
    secret("hub-kubeconfig-secret", "cluster-name", "c1");
    const std::string hash = work::hub_hash(endpoint.server);
    api->put(api::applied_manifest_works(), {{"metadata", {{"name", work::applied_name(hash, "web")}}},
                                             {"spec", {{"hubHash", hash}, {"manifestWorkName", "web"}}}});
  }

  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make();
  testkit::FakeContext context{api->client()};
  Registry registry;
};

TEST_F(RejoinCommand, NeedsTheHubAndAnAgent) {
  const auto nowhere = testkit::run_command(registry, "rejoin", context, {}, {});
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_EQ(nowhere.error().category, Category::kUsage);
  EXPECT_NE(nowhere.error().hint.find("fleetadm join"), std::string::npos) << "without rights on the hub";
  EXPECT_EQ(run({{"hub-apiserver", "http://hub"}}).error().category, Category::kUsage);
  EXPECT_EQ(run().error().category, Category::kNotFound);
  EXPECT_TRUE(api->writes().empty());
}

TEST_F(RejoinCommand, AHubThatLostTheClustersWorksIsRefusedUntilThatIsMeant) {
  restore_an_old_hub();
  const auto refused = run();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().reason, "RemovalsNotAllowed") << refused.error().message;
  EXPECT_NE(refused.error().message.find("web"), std::string::npos) << refused.error().message;
  const auto plan = run({{"plan", "true"}});
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_EQ(plan->table->rows.size(), 1U);
  EXPECT_TRUE(api->writes().empty());
  api->put(api::manifest_works(), {{"metadata", {{"name", "web"}, {"namespace", "c1"}}}});
  EXPECT_TRUE(run({{"plan", "true"}})->table->rows.empty());
}

}  // namespace
}  // namespace fleetadm::commands
