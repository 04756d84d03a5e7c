// A hosted member, on both of its clusters: what is installed, what is refused, and what goes when it leaves.
#include <algorithm>
#include <gtest/gtest.h>

#include "core/api/hosted_member.h"
#include "core/api/kinds.h"
#include "core/install/install.h"
#include "core/registration/join/hosted_departure.h"
#include "core/registration/join/hosted_manifests.h"
#include "core/registration/join/hosted_sides.h"
#include "core/registration/join/hosted_token.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/fake_api.h"

namespace fleetadm::join {
namespace {

namespace r = kube::resources;

class HostedJoinTest : public testing::Test {
 protected:
  HostedJoinTest() {
    hosting->put(r::namespaces(), {{"metadata", {{"name", "kube-system"}}}});
    wanted.by = hosting_by(hosting->client(), "hosted").value();
  }
  void install(const Hosting& as) {
    install::Options how;
    how.part = install::kAgentPart;
    auto objects = member_objects(as, false).value();
    std::erase_if(objects, [](const Json& object) { return str(object, {"kind"}) == "CustomResourceDefinition"; });
    ASSERT_TRUE(install::apply_all(member->client(), std::move(objects), how));
    how.part = kHostingPart;
    auto here = hosting_objects({.ns = "hosted", .image = "x"}).value();
    for (Json& secret : member_secrets({"hosted", as.cluster, "k", {"b"}, {"--agent-id=a"}})) here.push_back(std::move(secret));
    ASSERT_TRUE(install::apply_all(hosting->client(), std::move(here), how));
    hosting->put(r::secrets(), {{"metadata", {{"name", as.cluster + "-hub-kubeconfig-secret"}, {"namespace", "hosted"}}},
                                {"data", {{"cluster-name", base64_encode(as.cluster)}}}});
  }
  bool has(const std::string& secret) const { return hosting->get(r::secrets(), "hosted", secret).has_value(); }
  std::string refusal() {
    const Status good = check_hostable(hosting->client(), "hosted", member->client(), wanted);
    return good ? std::string() : good.error().message;
  }

  std::shared_ptr<testkit::FakeApi> hosting = testkit::FakeApi::make();
  std::shared_ptr<testkit::FakeApi> member = testkit::FakeApi::make();
  Hosting wanted{"c1", "https://hub", ""};
  DepartureOptions leaving = [] {
    DepartureOptions options;
    options.cluster_name = "c1";
    options.timeout = std::chrono::seconds(5);
    return options;
  }();
};

TEST_F(HostedJoinTest, AMemberGetsWhatAnAgentNeedsButForAProgram) {
  std::vector<std::string> rules;
  const auto figures = member_objects(wanted, true).value();
  const auto objects = member_objects(wanted, false).value();
  EXPECT_EQ(figures.size(), objects.size() + 2) << "a role and its binding";
  for (const Json& object : objects) {
    EXPECT_NE(str(object, {"kind"}), "Deployment");
    if (str(object, {"kind"}) != "Role") continue;
    for (const Json& rule : list_at(object, {"rules"})) {
      for (const std::string& what : string_list_at(rule, {"resources"})) rules.push_back(what);
    }
  }
  EXPECT_EQ(rules, (std::vector<std::string>{"serviceaccounts", "serviceaccounts/token"})) << "and no Secrets";
}

TEST_F(HostedJoinTest, JoiningAgainAsBeforeIsRightAndAnythingElseIsNot) {
  EXPECT_EQ(refusal(), "");
  install(wanted);
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(hosted_as(member->client()).value(), wanted);
  EXPECT_FALSE(check_not_hosted(member->client()));
  const Hosting before = wanted;
  for (auto change : {&Hosting::cluster, &Hosting::hub_server, &Hosting::by}) {
    wanted = before;
    wanted.*change = "other";
    EXPECT_NE(refusal().find("already hosted, as \"c1\""), std::string::npos) << refusal();
  }
}

TEST_F(HostedJoinTest, ANameIsOfOneMemberAndAClusterHasOneAgent) {
  install(wanted);
  member = testkit::FakeApi::make();
  EXPECT_NE(refusal().find("\"c1\" is already hosted in namespace hosted"), std::string::npos) << "by another cluster";
  hosting->erase(r::secrets(), "hosted", "c1.member");
  EXPECT_EQ(refusal(), "");
  member->put(r::deployments(), {{"metadata", {{"name", "fleetadm-agent"}, {"namespace", std::string(api::kAgentNamespace)}}}});
  EXPECT_NE(refusal().find("an agent runs on the member itself"), std::string::npos);
}

TEST_F(HostedJoinTest, BothSidesAreAskedForTheRights) {
  member->on_review([](const Json& spec) { return str(spec, {"resourceAttributes", "resource"}) != "clusterroles"; });
  Preflight checks;
  check_hosted_sides(hosting->client(), "hosted", member->client(), checks);
  ASSERT_EQ(checks.checks.size(), 2U);
  EXPECT_EQ(checks.checks[0].outcome, Outcome::kFailed);
  EXPECT_EQ(checks.checks[1].outcome, Outcome::kPassed);
  ASSERT_TRUE(checks.error);
  EXPECT_EQ(checks.error->message, "your identity may not create clusterroles on the member cluster");
  EXPECT_EQ(hosting->count("create", "secrets") + member->count("create", "clusterroles"), 0);
}

TEST_F(HostedJoinTest, ATokenIsKeptAsLongAsItIsGoodForTheSameWay) {
  const Json claims{
      {"iat", 1000}, {"exp", 2000}, {"kubernetes.io", {{"namespace", "n"}, {"serviceaccount", {{"name", "a"}, {"uid", "u"}}}}}};
  const std::string token = "e30." + base64url_encode(dump_json(claims)) + ".x";
  const MemberWay way{"https://member", "", "name", "http://proxy"};
  const std::string stored = member_kubeconfig(way, token);
  const auto at = [](int seconds) { return Instant(std::chrono::seconds(seconds)); };
  EXPECT_EQ(token_to_keep(stored, way, at(1700)), token);
  EXPECT_EQ(token_to_keep(stored, way, at(1800)), "");
  MemberWay moved = way;
  moved.server = "https://elsewhere";
  EXPECT_EQ(token_to_keep(stored, moved, at(1700)), "");
  EXPECT_EQ(token_to_keep(member_kubeconfig(way, "opaque"), way, at(1700)), "");
  EXPECT_EQ(token_to_keep("", way, at(1700)), "");
}

TEST_F(HostedJoinTest, OneMemberLeavesAndNothingOfAnotherIsTouched) {
  install(wanted);
  Hosting other = wanted;
  other.cluster = "c2";
  const auto first = member;
  member = testkit::FakeApi::make();
  install(other);
  hosting->forget_calls();
  ASSERT_TRUE(leave_hosting(hosting->client(), "hosted", leaving));
  ASSERT_TRUE(leave_on_member(first->client(), leaving));
  ASSERT_TRUE(finish_hosting(hosting->client(), "hosted", leaving));
  for (const char* name : {"c1.member", "c1.bootstrap", "c1-hub-kubeconfig-secret"}) EXPECT_FALSE(has(name)) << name;
  for (const char* name : {"c2.member", "c2.bootstrap", "c2-hub-kubeconfig-secret"}) EXPECT_TRUE(has(name)) << name;
  EXPECT_EQ(hosting->count("delete"), 3);
  EXPECT_TRUE(first->all(r::cluster_roles()).empty());
  EXPECT_TRUE(first->all(r::namespaces()).empty());
  EXPECT_FALSE(member->all(r::cluster_roles()).empty());
  // A server empties the namespaces that go.
  for (const kube::Resource& type : {r::roles(), r::role_bindings(), r::service_accounts(), r::secrets()}) {
    for (const Json& object : first->all(type)) first->erase(type, namespace_of(object), name_of(object));
  }
  hosting->forget_calls();
  EXPECT_TRUE(leave_hosting(hosting->client(), "hosted", leaving)->empty());
  EXPECT_TRUE(leave_on_member(first->client(), leaving)->empty());
  EXPECT_TRUE(finish_hosting(hosting->client(), "hosted", leaving)->empty());
  EXPECT_EQ(hosting->write_count(), 0);
}

TEST_F(HostedJoinTest, TheProgramGoesWithTheLastMemberAndThatOfAnotherNamespaceStays) {
  install(wanted);
  install::Options how;
  how.part = kHostingPart;
  ASSERT_TRUE(install::apply_all(hosting->client(), hosting_objects({.ns = "second", .image = "x"}).value(), how));
  ASSERT_TRUE(leave_hosting(hosting->client(), "hosted", leaving));
  ASSERT_TRUE(finish_hosting(hosting->client(), "hosted", leaving));
  EXPECT_FALSE(hosting->get(r::deployments(), "hosted", api::kHostedDeployment));
  EXPECT_FALSE(hosting->get(r::namespaces(), "", "hosted"));
  EXPECT_TRUE(hosting->get(r::deployments(), "second", api::kHostedDeployment));
  EXPECT_TRUE(hosting->get(r::namespaces(), "", "second"));
}

TEST_F(HostedJoinTest, AProgramOfAHelmReleaseStaysWithoutMembers) {
  install(wanted);
  EXPECT_EQ(release_of_program(hosting->client(), "hosted").value(), "");
  Json program = hosting->get(r::deployments(), "hosted", api::kHostedDeployment).value();
  program["metadata"]["annotations"]["meta.helm.sh/release-name"] = "agents";
  hosting->put(r::deployments(), program);
  ASSERT_TRUE(leave_hosting(hosting->client(), "hosted", leaving));
  ASSERT_TRUE(finish_hosting(hosting->client(), "hosted", leaving));
  EXPECT_EQ(release_of_program(hosting->client(), "hosted").value(), "agents");
  EXPECT_TRUE(hosting->get(r::deployments(), "hosted", api::kHostedDeployment));
  EXPECT_TRUE(hosting->get(r::namespaces(), "", "hosted"));
  for (const char* secret : {"c1.member", "c1.bootstrap", "c1-hub-kubeconfig-secret"}) EXPECT_FALSE(has(secret)) << secret;
}

TEST_F(HostedJoinTest, WorksThatAreAppliedKeepTheMembersAgent) {
  install(wanted);
  member->put(api::applied_manifest_works(), {{"metadata", {{"name", "w"}}}});
  const auto refused = leave_on_member(member->client(), leaving);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().category, Category::kConflict);
  EXPECT_TRUE(member->get(r::service_accounts(), api::kAgentNamespace, "fleetadm-agent"));
  leaving.force = true;
  ASSERT_TRUE(leave_on_member(member->client(), leaving));
  EXPECT_FALSE(member->get(r::service_accounts(), api::kAgentNamespace, "fleetadm-agent"));
  EXPECT_TRUE(member->all(api::applied_manifest_works()).empty());
}

}  // namespace
}  // namespace fleetadm::join
