// reject: requests are denied, and the cluster is not accepted.
#include "commands/cluster/cluster.h"
#include "core/controller/controller.h"
#include "tests/unit/commands/framework/fixture.h"

namespace fleetadm::commands {
namespace {

class RejectTest : public GuardedHub {
 protected:
  RejectTest() { register_cluster(registry); }
  void put_request(const std::string& name, const std::string& cluster, const std::string& decided = {}) {
    Json csr{{"apiVersion", "certificates.k8s.io/v1"},
             {"kind", "CertificateSigningRequest"},
             {"metadata", {{"name", name}, {"labels", {{std::string(api::kClusterNameLabel), cluster}}}}},
             {"spec", {{"username", "someone"}, {"request", "bm90IG9uZQ=="}}}};
    if (!decided.empty()) csr["status"]["conditions"] = Json::array({{{"type", decided}, {"status", "True"}}});
    api->put(kube::resources::certificate_signing_requests(), csr);
  }
  bool denied(const std::string& name) const {
    return controller::condition_is(*api->get(kube::resources::certificate_signing_requests(), "", name), "Denied", "True");
  }
  bool accepted(const std::string& name) const { return flag(cluster(name), {"spec", "hubAcceptsClient"}); }
  void put_pending(const std::string& name) {
    api->put(api::managed_clusters(), {{"apiVersion", api::managed_clusters().api_version()},
                                       {"kind", "ManagedCluster"},
                                       {"metadata", {{"name", name}}},
                                       {"spec", {{"hubAcceptsClient", false}}}});
  }
};

TEST_F(RejectTest, DeniesAllPendingRequestsAndLeavesOthersAlone) {
  put_pending("new");
  put_request("new-1", "new");
  put_request("new-2", "new");
  put_request("new-0", "new", "Approved");
  put_request("else", "c1");
  const auto report = run("reject", {"new"});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(denied("new-1") && denied("new-2"));
  EXPECT_FALSE(denied("new-0") || denied("else"));
  EXPECT_FALSE(accepted("new"));
  EXPECT_TRUE(accepted("c1"));
  EXPECT_EQ(str(report->data, {"kind"}), "RejectReport");
  EXPECT_EQ(list_at(list_at(report->data, {"items"}).front(), {"requests"}).size(), 2U);
  const auto again = run("reject", {"new"});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(list_at(list_at(again->data, {"items"}).front(), {"requests"}).empty());
}

TEST_F(RejectTest, DeniesAClusterThatWasAccepted) {
  put_request("c3-1", "c3");
  ASSERT_TRUE(run("reject", {"c3"}));
  EXPECT_FALSE(accepted("c3"));
  EXPECT_TRUE(denied("c3-1"));
}

TEST_F(RejectTest, WhatTheGuardRefusesDeniesNoRequestEither) {
  put_request("c1-1", "c1");
  expect_refused(run("reject", {"c1"}), "1 of 3 clusters (c1) would lose 1 work");
  EXPECT_FALSE(denied("c1-1"));
  const auto plan = run("reject", {"c1"}, {{"plan", "true"}});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(str(plan->data, {"kind"}), "RemovalPlan");
  EXPECT_EQ(writes(), 0);
}

TEST_F(RejectTest, ARequestThatIsNamedIsDeniedAndTheClusterKeepsItsAccess) {
  put_request("c1-old", "c1", "Approved");
  put_request("c1-1", "c1");
  put_request("c1-2", "c1");
  ASSERT_TRUE(run("reject", {"c1"}, {{"csr", "c1-2"}}));
  EXPECT_TRUE(denied("c1-2"));
  EXPECT_FALSE(denied("c1-1"));
  EXPECT_TRUE(accepted("c1"));
  EXPECT_EQ(run("reject", {"c1"}, {{"csr", "c1-9"}}).error().category, Category::kNotFound);
  EXPECT_EQ(run("reject", {"c1"}, {{"csr", "c1-old"}}).error().category, Category::kConflict);
  EXPECT_EQ(run("reject", {"c1", "c2"}, {{"csr", "c1-1"}}).error().category, Category::kUsage);
}

TEST_F(RejectTest, ARequestNeedsNoClusterAndANameNeedsOneOfBoth) {
  put_request("ghost-1", "ghost");
  ASSERT_TRUE(run("reject", {"ghost"}));
  EXPECT_TRUE(denied("ghost-1"));
  const auto missing = run("reject", {"nobody"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().category, Category::kNotFound);
}

TEST_F(RejectTest, SaysSoWhereTheHubDoesNotShowTheDenial) {
  put_pending("new");
  put_request("new-1", "new");
  api->on_request([](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (call.subresource != "approval") return std::nullopt;
    return kube::Response{200, {}, dump_json(call.body)};
  });
  const auto report = run("reject", {"new"});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->failures.size(), 1U);
  EXPECT_NE(report->failures[0].message.find("does not show the request new-1 as denied"), std::string::npos);
}

}  // namespace
}  // namespace fleetadm::commands
