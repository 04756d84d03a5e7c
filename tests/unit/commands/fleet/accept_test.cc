// accept asks where nobody has said which clusters are meant.
#include <gtest/gtest.h>

#include "commands/fleet/fleet.h"
#include "core/api/kinds.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {
namespace {

class AcceptTest : public ::testing::Test {
 protected:
  AcceptTest() {
    register_accept(registry_);
    // Its request was approved and cleaned up long ago.
    api_->put(api::managed_clusters(),
              {{"apiVersion", "cluster.open-cluster-management.io/v1"},
               {"kind", "ManagedCluster"},
               {"metadata", {{"name", "c1"}}},
               {"spec", {{"hubAcceptsClient", false}}},
               {"status", {{"conditions", Json::array({{{"type", "ManagedClusterJoined"}, {"status", "True"}}})}}}});
    context_.screen.answer = false;
  }
  bool accepted() const { return flag(*api_->get(api::managed_clusters(), "", "c1"), {"spec", "hubAcceptsClient"}); }

  std::shared_ptr<testkit::FakeApi> api_ = testkit::FakeApi::make();
  testkit::FakeContext context_{api_->client()};  // no terminal
  Registry registry_;
};

TEST_F(AcceptTest, AllNeedsAnAnswerEvenWithoutATerminal) {
  const auto report = testkit::run_command(registry_, "accept", context_, {{"all", "true"}}, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().category, Category::kCancelled);
  EXPECT_FALSE(accepted());
  const auto sure = testkit::run_command(registry_, "accept", context_, {{"all", "true"}, {"yes", "true"}}, {});
  ASSERT_TRUE(sure) << sure.error().message;
  EXPECT_TRUE(accepted());
}

TEST_F(AcceptTest, AScriptThatNamesAClusterHasChosenIt) {
  const auto report = testkit::run_command(registry_, "accept", context_, {}, {"c1"});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(accepted());
}

}  // namespace
}  // namespace fleetadm::commands
