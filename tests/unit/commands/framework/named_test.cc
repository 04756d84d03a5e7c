// "Did you mean" for names that a server does not have.
#include "commands/framework/named.h"

#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "tests/support/fake_api.h"

namespace fleetadm::commands {
namespace {

class NearNamesTest : public ::testing::Test {
 protected:
  NearNamesTest() {
    for (const char* name : {"paris", "london", "tokyo"})
      api_->put(api::managed_clusters(), Json{{"metadata", {{"name", name}}}});
  }
  NearNames clusters() { return {api_->client(), api::managed_clusters()}; }

  std::shared_ptr<testkit::FakeApi> api_ = testkit::FakeApi::make();
};

TEST_F(NearNamesTest, SeveralMissingNamesCostOneRequestWithoutObjects) {
  NearNames near = clusters();
  EXPECT_EQ(api_->count("list"), 0) << "nothing is asked before a name is missing";
  EXPECT_EQ(near.hint("pairs"), "did you mean \"paris\"?");
  EXPECT_EQ(near.hint("tokio"), "did you mean \"tokyo\"?");
  EXPECT_EQ(near.hint("rome", "look elsewhere"), "look elsewhere");
  ASSERT_EQ(api_->count("list"), 1);
  EXPECT_EQ(api_->calls().back().param("limit"), "5000");
}

TEST_F(NearNamesTest, NothingMoreIsAskedWhereTheListFails) {
  api_->fail_next("list", "", 403, "Forbidden");
  NearNames near = clusters();
  EXPECT_EQ(near.hint("pairs", "look elsewhere"), "look elsewhere");
  EXPECT_EQ(near.hint("tokio"), "");
  EXPECT_EQ(api_->count("list"), 1);
}

TEST_F(NearNamesTest, OtherErrorsStayAsTheyAre) {
  NearNames near = clusters();
  Error refused;
  refused.category = Category::kAuth;
  EXPECT_EQ(near.explain(refused, "pairs").hint, "");
  Error no_such_type;
  no_such_type.category = Category::kNotFound;
  no_such_type.reason = kube::kUnknownPath;
  EXPECT_EQ(near.explain(no_such_type, "pairs").hint, "");
  EXPECT_EQ(api_->count("list"), 0);
  const auto missing = api_->client().get(api::managed_clusters(), "", "pairs");
  ASSERT_FALSE(missing);
  const Error told = near.explain(missing.error(), "pairs");
  EXPECT_EQ(told.category, Category::kNotFound);
  EXPECT_EQ(told.hint, "did you mean \"paris\"?");
}

TEST_F(NearNamesTest, NamesOfOneNamespaceOnly) {
  for (const char* ns : {"apps", "infra"})
    api_->put(api::placements(), Json{{"metadata", {{"name", std::string("web-") + ns}, {"namespace", ns}}}});
  EXPECT_EQ(NearNames(api_->client(), api::placements(), "apps").hint("web-app"), "did you mean \"web-apps\"?");
  EXPECT_EQ(NearNames(api_->client(), api::placements(), "apps").hint("web-infa"), "");
}

}  // namespace
}  // namespace fleetadm::commands
