// What an upgrade intends: this version's objects, with the options of the installation.
#include "core/upgrade/intents.h"

#include <gtest/gtest.h>

#include "core/api/hosted_member.h"
#include "core/api/kinds.h"
#include "core/install/install.h"
#include "core/install/program_args.h"
#include "core/registration/join/hosted_manifests.h"
#include "core/upgrade/plan.h"
#include "tests/support/fake_api.h"
#include "tests/support/vectors.h"

namespace fleetadm::upgrade {
namespace {

constexpr std::string_view kHubNs = "open-cluster-management-hub";
constexpr std::string_view kAgentNs = "open-cluster-management-agent";

/// As the former release has installed it.
Installed former(const char* part) {
  const auto recorded = test::read_recorded("installed-v0.1.0.json.gz");
  EXPECT_TRUE(recorded);
  Installed installed;
  for (const Json& object : list_at(*recorded, {part})) installed.objects.push_back(object);
  return installed;
}

Json& deployment_in(Installed& installed, std::string_view ns, std::string_view name) {
  return const_cast<Json&>(*installed.find("Deployment", ns, name));  // the objects are the test's own
}

TEST(AddedArgs, AreThoseThatTheVersionDoesNotSetItself) {
  const Json own{"hub", "run", "--leader-elect=true", "--health-address=$(POD_IP):8000"};
  EXPECT_EQ(added_args(own, {"hub", "run", "--leader-elect=true", "--health-address=$(POD_IP):9000", "--auto-approve-user=a",
                             "--auto-approve-user=b"}),
            (std::vector<std::string>{"--auto-approve-user=a", "--auto-approve-user=b"}))
      << "an older form of an own argument is replaced";
  EXPECT_EQ(added_args(own, {"hub", "run", "--health-address=$(POD_IP):8000", "--health-address=:1"}),
            (std::vector<std::string>{"--health-address=:1"}))
      << "a second one is the user's";
  EXPECT_TRUE(added_args(own, {}).empty());
}

TEST(HubIntent, HasTheOptionsOfTheInstallation) {
  Installed installed = former("hub");
  Json& live = deployment_in(installed, kHubNs, kHubDeployment);
  live["spec"]["replicas"] = 3;
  live["spec"]["template"]["spec"]["containers"][0]["args"].push_back("--auto-approve-user=carol");
  installed.objects.push_back({{"apiVersion", "networking.k8s.io/v1"},
                               {"kind", "NetworkPolicy"},
                               {"metadata", {{"name", "fleetadm-hub"}, {"namespace", std::string(kHubNs)}}}});
  const auto intent = hub_intent(testkit::FakeApi::make()->client(), installed, "r.example/fleetadm:v9.0.0", "fleetadm");
  ASSERT_TRUE(intent) << intent.error().message;
  const Installed made{*intent};
  const Json* deployment = made.find("Deployment", kHubNs, kHubDeployment);
  ASSERT_NE(deployment, nullptr);
  EXPECT_EQ(image_of(*deployment), "r.example/fleetadm:v9.0.0");
  EXPECT_EQ(num(*deployment, {"spec", "replicas"}), 3);
  Json args = install::hub_args();
  args.push_back("--auto-approve-user=carol");
  EXPECT_EQ(Json(args_of(*deployment)), args);
  EXPECT_NE(made.find("NetworkPolicy", kHubNs, "fleetadm-hub"), nullptr) << "it was asked for";
  EXPECT_EQ(made.find("Deployment", kHubNs, kGatewayDeployment), nullptr) << "it was not asked for";
  EXPECT_EQ(made.find("ValidatingAdmissionPolicy", "", "require-executor.fleetadm.io"), nullptr);
  EXPECT_EQ(str(made.objects.front(), {"kind"}), "Namespace") << "what others are in comes first";
  for (const Json& object : former("hub").objects)
    EXPECT_TRUE(made.has(object)) << str(object, {"kind"}) << " " << name_of(object) << " would be retired";
}

TEST(HubIntent, BringsTheGatewayWhereItIs) {
  Installed installed = former("hub");
  Json gateway = *installed.find("Deployment", kHubNs, kHubDeployment);
  gateway["metadata"]["name"] = std::string(kGatewayDeployment);
  Json args = install::gateway_args(false);
  args.push_back("--public-address=gateway.example.com:443");
  gateway["spec"]["template"]["spec"]["containers"][0]["args"] = args;
  installed.objects.push_back(gateway);
  const auto intent = hub_intent(testkit::FakeApi::make()->client(), installed, "fleetadm:v9.0.0", "fleetadm");
  ASSERT_TRUE(intent) << intent.error().message;
  const Installed made{*intent};
  const Json* deployment = made.find("Deployment", kHubNs, kGatewayDeployment);
  ASSERT_NE(deployment, nullptr);
  EXPECT_EQ(Json(args_of(*deployment)), args);
  EXPECT_EQ(image_of(*deployment), "fleetadm:v9.0.0");
  const auto may_dial = [](const Installed& one) {
    return one.find("Role", "open-cluster-management-push", "open-cluster-management:fleetadm-gateway") != nullptr;
  };
  EXPECT_FALSE(may_dial(made));
  installed.objects.push_back(
      {{"apiVersion", "rbac.authorization.k8s.io/v1"},
       {"kind", "Role"},
       {"metadata", {{"name", "open-cluster-management:fleetadm-hub-push"}, {"namespace", "open-cluster-management-push"}}}});
  const auto with_push = hub_intent(testkit::FakeApi::make()->client(), installed, "fleetadm:v9.0.0", "fleetadm");
  ASSERT_TRUE(with_push) << with_push.error().message;
  EXPECT_TRUE(may_dial(Installed{*with_push})) << "a version that had both could not dial yet";
}

TEST(AgentIntent, KeepsTheNameAndTheArguments) {
  Installed installed = former("agent");
  Json& live = deployment_in(installed, kAgentNs, api::kAgentDeployment);
  live["spec"]["template"]["spec"]["containers"][0]["args"].push_back("--hub-kubeconfig-secret=mine");
  const auto intent = agent_intent(installed, "fleetadm:v9.0.0", "fleetadm");
  ASSERT_TRUE(intent) << intent.error().message;
  const Installed made{*intent};
  const Json* deployment = made.find("Deployment", kAgentNs, api::kAgentDeployment);
  ASSERT_NE(deployment, nullptr);
  EXPECT_EQ(args_of(*deployment).back(), "--hub-kubeconfig-secret=mine");
  EXPECT_EQ(args_of(*deployment)[2], "--cluster-name=c1");
  const Json* role = made.find("Role", kAgentNs, "open-cluster-management:fleetadm-agent");
  ASSERT_NE(role, nullptr);
  EXPECT_NE(dump_json(*role).find("\"mine\""), std::string::npos) << "the role names the Secret of the installation";
  EXPECT_TRUE(std::none_of(intent->begin(), intent->end(), [](const Json& one) { return str(one, {"kind"}) == "Secret"; }))
      << "credentials stay as they are";
  for (const Json& object : former("agent").objects)
    EXPECT_TRUE(made.has(object)) << str(object, {"kind"}) << " " << name_of(object) << " would be retired";
}

TEST(AgentIntent, NeedsTheNameOfTheCluster) {
  Installed installed = former("agent");
  deployment_in(installed, kAgentNs, api::kAgentDeployment)["spec"]["template"]["spec"]["containers"][0]["args"] = Json::array();
  const auto intent = agent_intent(installed, "fleetadm:v9.0.0", "fleetadm");
  ASSERT_FALSE(intent);
  EXPECT_EQ(intent.error().category, Category::kConflict);
}

TEST(HostingIntent, IsOfOneNamespaceAndKeepsItsNetworkPolicy) {
  Installed installed;
  for (const char* ns : {"hosted", "other"}) {
    const auto objects = join::hosting_objects({.ns = ns, .image = "fleetadm:v0.0.9", .network_policy = true}).value();
    installed.objects.insert(installed.objects.end(), objects.begin(), objects.end());
  }
  keep_namespace(installed, "hosted");
  EXPECT_EQ(installed.find("Deployment", "other", api::kHostedDeployment), nullptr);
  EXPECT_EQ(installed.find("Namespace", "", "other"), nullptr);
  const auto intent = hosting_intent(installed, "hosted", "fleetadm:v9.0.0", "fleetadm");
  ASSERT_TRUE(intent) << intent.error().message;
  const Installed made{*intent};
  EXPECT_EQ(made.objects.size(), installed.objects.size());
  for (const Json& object : installed.objects)
    EXPECT_TRUE(made.has(object)) << str(object, {"kind"}) << " " << name_of(object) << " would be retired";
  EXPECT_EQ(image_of(*made.find("Deployment", "hosted", api::kHostedDeployment)), "fleetadm:v9.0.0");
}

TEST(WithImage, RefusesWhatFleetadmHasNotApplied) {
  const auto intent = with_image(former("agent"), "fleetadm:v0.0.9", "fleetadm");
  ASSERT_FALSE(intent);
  EXPECT_EQ(intent.error().category, Category::kConflict);
}

TEST(WithImage, ChangesNothingElse) {
  Installed installed = former("agent");
  Json& live = deployment_in(installed, kAgentNs, api::kAgentDeployment);
  live["metadata"]["managedFields"] = *parse_json(R"([{"manager": "fleetadm", "operation": "Apply", "fieldsV1": {"f:spec": {
      "f:replicas": {}, "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"agent\"}": {".": {}, "f:name": {}, "f:image": {},
      "f:args": {}}}}}}}}])");
  const auto intent = with_image(installed, "fleetadm:v0.0.9", "fleetadm");
  ASSERT_TRUE(intent) << intent.error().message;
  ASSERT_EQ(intent->size(), 1U);
  EXPECT_EQ(image_of(intent->front()), "fleetadm:v0.0.9");
  EXPECT_EQ(args_of(intent->front()), args_of(live));
  EXPECT_EQ(object_at(intent->front(), {"spec"}).size(), 2U) << dump_json(intent->front());
}

}  // namespace
}  // namespace fleetadm::upgrade
