// accept asks where nobody has said which clusters are meant.
#include <gtest/gtest.h>

#include "commands/fleet/fleet.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/csr_key.h"
#include "kubeclient/pki/pki.h"
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

TEST_F(AcceptTest, AllAreAcceptedBeforeTheFirstIsWaitedFor) {
  const auto put = [&](const std::string& name, bool available) {
    Json cluster = *api_->get(api::managed_clusters(), "", "c1");
    cluster["metadata"] = {{"name", name}};
    if (available) cluster["status"]["conditions"].push_back({{"type", api::kConditionAvailable}, {"status", "True"}});
    api_->put(api::managed_clusters(), cluster);
  };
  put("c2", true);
  // c1 becomes available when c2 has been accepted.
  api_->on_request([&](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (call.verb == "watch" && flag(*api_->get(api::managed_clusters(), "", "c2"), {"spec", "hubAcceptsClient"}))
      put("c1", true);
    return std::nullopt;
  });
  const auto report =
      testkit::run_command(registry_, "accept", context_, {{"wait", "available"}, {"timeout", "3s"}}, {"c1", "c2"});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->failures.empty());
  ASSERT_EQ(report->lines.size(), 2U);
  EXPECT_EQ(report->lines.front(), "cluster c1 accepted");
}

TEST_F(AcceptTest, AClusterWithAnIdentityOfAwsNeedsNoRequest) {
  const std::string arn = "arn:aws:eks:us-west-2:123456789012:cluster/c2";
  const Json plain{{"apiVersion", "cluster.open-cluster-management.io/v1"},
                   {"kind", "ManagedCluster"},
                   {"metadata", {{"name", "c2"}}},
                   {"spec", {{"hubAcceptsClient", false}}}};
  api_->put(api::managed_clusters(), plain);
  EXPECT_FALSE(testkit::run_command(registry_, "accept", context_, {}, {"c2"})) << "nobody has asked for it";
  Json by_aws = plain;
  by_aws["metadata"]["annotations"] = {{"agent.open-cluster-management.io/managed-cluster-arn", arn},
                                       {"agent.open-cluster-management.io/managed-cluster-iam-role-suffix", "abc"}};
  api_->put(api::managed_clusters(), by_aws);
  const auto compared = testkit::run_command(registry_, "accept", context_, {{"agent-id", "abcde"}}, {"c2"});
  ASSERT_FALSE(compared);
  EXPECT_NE(compared.error().hint.find(arn), std::string::npos);
  const auto report = testkit::run_command(registry_, "accept", context_, {}, {"c2"});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(str(list_at(report->data, {"items"}).front(), {"arn"}), arn);
  EXPECT_TRUE(flag(*api_->get(api::managed_clusters(), "", "c2"), {"spec", "hubAcceptsClient"}));
}

class SecondIdentityTest : public AcceptTest {
 protected:
  /// A well-formed first request by a bootstrap identity. Returns the fingerprint of its key.
  std::string put_request(const std::string& name, bool approved) {
    const std::string group = "system:open-cluster-management:c1";
    const std::string pem = *pki::make_csr(*pki::generate_key(),
                                           {group + ":" + name, {group, "system:open-cluster-management:managed-clusters"}, {}});
    Json csr{{"apiVersion", "certificates.k8s.io/v1"},
             {"kind", "CertificateSigningRequest"},
             {"metadata",
              {{"name", name},
               {"creationTimestamp", format_time(context_.clock().now() - std::chrono::minutes(5))},
               {"labels", {{std::string(api::kClusterNameLabel), "c1"}}}}},
             {"spec",
              {{"signerName", "kubernetes.io/kube-apiserver-client"},
               {"usages", {"digital signature", "key encipherment", "client auth"}},
               {"username", "system:serviceaccount:open-cluster-management:agent-registration-bootstrap"},
               {"request", base64_encode(pem)}}}};
    if (approved) csr["status"]["conditions"] = Json::array({{{"type", "Approved"}, {"status", "True"}}});
    api_->put(kube::resources::certificate_signing_requests(), csr);
    return "sha256:" + pki::csr_key(pem)->spki_sha256;
  }
  bool approved(const std::string& name) const {
    return controller::condition_is(*api_->get(kube::resources::certificate_signing_requests(), "", name), "Approved", "True");
  }
};

TEST_F(SecondIdentityTest, IsNotApprovedByTheClustersNameAlone) {
  const std::string known = put_request("first", true);
  const std::string fresh = put_request("second", false);
  const auto report = testkit::run_command(registry_, "accept", context_, {{"yes", "true"}}, {"c1"});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().category, Category::kConflict);
  for (const std::string& part : {std::string("already joined"), std::string("first (by "), std::string("second (by "),
                                  std::string("5m ago"), known, fresh}) {
    EXPECT_NE(report.error().message.find(part), std::string::npos) << part << " in " << report.error().message;
  }
  EXPECT_NE(report.error().hint.find("--csr second"), std::string::npos) << report.error().hint;
  EXPECT_FALSE(approved("second"));
  EXPECT_FALSE(accepted());
}

TEST_F(SecondIdentityTest, IsApprovedByTheNameOfItsRequest) {
  put_request("second", false);
  const auto other = testkit::run_command(registry_, "accept", context_, {{"yes", "true"}, {"csr", "third"}}, {"c1"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().category, Category::kNotFound);
  const auto report = testkit::run_command(registry_, "accept", context_, {{"yes", "true"}, {"csr", "second"}}, {"c1"});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(approved("second"));
}

TEST_F(SecondIdentityTest, TheRequestsAgentIsShownAndMayBeDemanded) {
  api_->put(api::managed_clusters(), {{"apiVersion", "cluster.open-cluster-management.io/v1"},
                                      {"kind", "ManagedCluster"},
                                      {"metadata", {{"name", "c1"}}},
                                      {"spec", {{"hubAcceptsClient", false}}}});
  put_request("x7k2p", false);
  const auto other = testkit::run_command(registry_, "accept", context_, {{"agent-id", "other"}}, {"c1"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().category, Category::kAuth);
  EXPECT_NE(other.error().message.find("the ID x7k2p, not other"), std::string::npos) << other.error().message;
  EXPECT_FALSE(approved("x7k2p"));
  const auto report = testkit::run_command(registry_, "accept", context_, {{"agent-id", "x7k2p"}}, {"c1"});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->lines, std::vector<std::string>{"cluster c1 accepted, agent ID x7k2p"});
  EXPECT_EQ(str(list_at(report->data, {"items"}).front(), {"agentId"}), "x7k2p");
  EXPECT_TRUE(list_at(report->data, {"items"}).front().at("organizations").is_array());
  EXPECT_TRUE(approved("x7k2p"));
}

TEST_F(SecondIdentityTest, AnAgentThatCannotBeComparedIsNotAccepted) {
  const auto gone = testkit::run_command(registry_, "accept", context_, {{"agent-id", "mine"}}, {"c1"});
  ASSERT_FALSE(gone) << "its request was cleaned up";
  EXPECT_EQ(gone.error().category, Category::kNotFound);
  put_request("other", true);
  const auto other = testkit::run_command(registry_, "accept", context_, {{"agent-id", "mine"}}, {"c1"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().category, Category::kAuth) << other.error().message;
  EXPECT_FALSE(accepted());
  EXPECT_TRUE(testkit::run_command(registry_, "accept", context_, {{"agent-id", "other"}}, {"c1"}));
  EXPECT_TRUE(accepted());
}

TEST_F(SecondIdentityTest, OneOfTwoAgentsIsChosenByItsId) {
  api_->put(api::managed_clusters(), {{"apiVersion", "cluster.open-cluster-management.io/v1"},
                                      {"kind", "ManagedCluster"},
                                      {"metadata", {{"name", "c1"}}},
                                      {"spec", {{"hubAcceptsClient", false}}}});
  put_request("mine", false);
  put_request("foreign", false);
  const auto both = testkit::run_command(registry_, "accept", context_, {}, {"c1"});
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().category, Category::kConflict);
  ASSERT_TRUE(testkit::run_command(registry_, "accept", context_, {{"agent-id", "mine"}}, {"c1"}));
  EXPECT_TRUE(approved("mine"));
  EXPECT_FALSE(approved("foreign"));
}

TEST_F(AcceptTest, LabelsSelectPendingClustersAndNeedAnAnswerToo) {
  Json other = *api_->get(api::managed_clusters(), "", "c1");
  other["metadata"] = {{"name", "c2"}, {"labels", {{"env", "dev"}}}};
  api_->put(api::managed_clusters(), other);
  const auto unasked = testkit::run_command(registry_, "accept", context_, {{"selector", "env=dev"}}, {});
  ASSERT_FALSE(unasked);
  EXPECT_EQ(unasked.error().category, Category::kCancelled);
  const auto report = testkit::run_command(registry_, "accept", context_, {{"selector", "env=dev"}, {"yes", "true"}}, {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(flag(*api_->get(api::managed_clusters(), "", "c2"), {"spec", "hubAcceptsClient"}));
  EXPECT_FALSE(accepted()) << "c1 has no such label";
  const auto twice = testkit::run_command(registry_, "accept", context_, {{"selector", "env=dev"}, {"all", "true"}}, {});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().category, Category::kUsage);
}

class AutoAcceptUserTest : public AcceptTest {
 protected:
  void refused(const std::string& user, Category category, const std::string& words) {
    const auto report = testkit::run_command(registry_, "accept", context_, {{"auto-accept-user", user}}, {});
    ASSERT_FALSE(report) << user;
    EXPECT_EQ(report.error().category, category) << report.error().message;
    EXPECT_NE((report.error().message + report.error().hint).find(words), std::string::npos)
        << report.error().message << report.error().hint;
    EXPECT_EQ(api_->write_count(), 0);
  }
};

TEST_F(AutoAcceptUserTest, IsAUserAndNotEverybody) {
  refused("", Category::kUsage, "requires a user name");
  refused("-", Category::kUsage, "requires a user name");
  refused("system:anonymous", Category::kUsage, "everyone");
}

TEST_F(AutoAcceptUserTest, OnlyControllersThatFleetadmInstalledAreChanged) {
  refused("ann", Category::kNotFound, "fleetadm hub run --auto-approve-user");
  Json deployment{{"apiVersion", "apps/v1"},
                  {"kind", "Deployment"},
                  {"metadata", {{"name", "fleetadm-hub"}, {"namespace", "open-cluster-management-hub"}}},
                  {"spec", Json::object()}};
  api_->put(kube::resources::deployments(), deployment);
  refused("ann", Category::kConflict, "were not set by fleetadm");
  deployment["metadata"]["annotations"]["meta.helm.sh/release-name"] = "fleet";
  api_->put(kube::resources::deployments(), deployment);
  refused("ann", Category::kConflict, "autoApproveUsers with: helm upgrade fleet");
}

}  // namespace
}  // namespace fleetadm::commands
