// Clusters of EKS that register with their own identity of AWS: names, signatures, what is made and removed in AWS.
#include <gtest/gtest.h>

#include "core/registration/agent/awsirsa_driver.h"
#include "core/registration/aws/eks_token.h"
#include "core/registration/aws/identities.h"
#include "core/registration/aws/names.h"
#include "core/registration/hub/awsirsa_driver.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/yaml.h"
#include "tests/support/aws_stand_in.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/core/registration/hub_fixture.h"

namespace fleetadm::registration {
namespace {

using testkit::AwsStandIn;

const std::string kHubArn = "arn:aws:eks:us-west-2:123456789012:cluster/hub";
const std::string kMemberArn = "arn:aws:eks:us-east-2:567890123456:cluster/spoke";
// MD5 of "123456789012#hub#567890123456#spoke".
const std::string kSuffix = "138c525cf3b7f74ba3b945e7847792cc";
const std::string kRole = "ocm-hub-" + kSuffix;
const std::string kPrincipal = "arn:aws:iam::123456789012:role/" + kRole;

aws::EksCluster eks(const std::string& arn) { return aws::parse_eks_arn(arn).value(); }

TEST(AwsNames, AreThoseOfBothClusters) {
  EXPECT_EQ(aws::arn_of(eks(kHubArn)), kHubArn);
  EXPECT_EQ(aws::role_suffix(eks(kHubArn), eks(kMemberArn)), kSuffix);
  EXPECT_EQ(aws::hub_role_arn(eks(kHubArn), kSuffix), kPrincipal);
  EXPECT_EQ(aws::member_role_arn(eks(kMemberArn), kSuffix), "arn:aws:iam::567890123456:role/ocm-managed-cluster-" + kSuffix);
  for (const char* wrong : {"", "hub", "arn:aws:eks:us-west-2:123:cluster/hub", "arn:aws:eks:us-west-2:123456789012:cluster/",
                            "arn:aws:eks::123456789012:cluster/hub", "arn:aws:eks:us-west-2:123456789012:nodegroup/hub",
                            "arn:aws:eks:us-west-2:123456789012:cluster/hub/x"}) {
    EXPECT_FALSE(aws::parse_eks_arn(wrong)) << wrong;
  }
  const Json policy = aws::trust_policy(eks(kHubArn), eks(kMemberArn));
  const Json& statement = list_at(policy, {"Statement"}).front();
  EXPECT_EQ(str(statement, {"Principal", "AWS"}), "arn:aws:iam::567890123456:role/ocm-managed-cluster-" + kSuffix);
  EXPECT_EQ(str(statement, {"Condition", "StringEquals", "aws:PrincipalTag/managed_cluster_name"}), "spoke");
}

// The example of AWS's documentation, and the plainest case of its test suite.
TEST(SigV4, IsWhatAwsPublishes) {
  const aws::Credentials as{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", {}, {}};
  const Instant at = parse_time("2015-08-30T12:36:00Z").value();
  kube::Request plain;
  plain.path = "/";
  aws::sign(plain, "example.amazonaws.com", as, {"us-east-1", "service"}, at);
  EXPECT_EQ(plain.headers["Authorization"],
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, "
            "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  kube::Request query;
  query.path = "/";
  query.query = {{"Param2", "value2"}, {"Param1", "value1"}};
  aws::sign(query, "example.amazonaws.com", as, {"us-east-1", "service"}, at);
  EXPECT_NE(query.headers["Authorization"].find("Signature=b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
            std::string::npos)
      << query.headers["Authorization"];
}

TEST(AwsServices, TakeTheRoleOfThePod) {
  const AwsStandIn stand_in;
  const testkit::TemporaryFolder folder("token");
  const auto services = std::make_shared<aws::Services>(
      stand_in.environment({{"AWS_ACCESS_KEY_ID", ""},
                            {"AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/hub_managed-cluster-identity-creator"},
                            {"AWS_WEB_IDENTITY_TOKEN_FILE", folder.write("token", std::string(AwsStandIn::kPodToken) + "\n")}}));
  const aws::Identities identities(services, eks(kHubArn), {});
  ASSERT_TRUE(identities.create_role("one", Json::object(), {}));
  ASSERT_TRUE(identities.create_role("two", Json::object(), {}));
  EXPECT_EQ(stand_in.calls(), (std::vector<std::string>{"AssumeRoleWithWebIdentity", "CreateRole", "CreateRole"}))
      << "the credentials are kept while they are good";
  EXPECT_TRUE(stand_in.wrong_signatures().empty());
}

TEST(AwsServices, MakeATokenAsTheProgramAwsDoes) {
  const AwsStandIn stand_in;
  const aws::Services services(stand_in.environment());
  const auto token = aws::eks_token(services, eks(kHubArn), kPrincipal, {});
  ASSERT_TRUE(token) << token.error().message;
  EXPECT_EQ(stand_in.calls(), std::vector<std::string>{"AssumeRole"});
  ASSERT_TRUE(token->starts_with("k8s-aws-v1."));
  EXPECT_EQ(token->find('='), std::string::npos);
  std::string encoded = token->substr(11);
  for (char& c : encoded) c = c == '-' ? '+' : c == '_' ? '/' : c;
  while (encoded.size() % 4 != 0) encoded += '=';
  const std::string url = base64_decode(encoded).value();
  EXPECT_TRUE(url.starts_with("https://sts.us-west-2.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15&")) << url;
  EXPECT_NE(url.find("&X-Amz-SignedHeaders=host%3Bx-k8s-aws-id&"), std::string::npos) << url;
  EXPECT_NE(url.find("&X-Amz-Security-Token=session-token&"), std::string::npos) << url;
  EXPECT_NE(url.find("&X-Amz-Signature="), std::string::npos) << url;
  EXPECT_EQ(url.find(AwsStandIn::kSecretKey), std::string::npos);
}

TEST(AwsServices, SayWhatIsMissingAndWhatAwsSaid) {
  const AwsStandIn stand_in;
  const aws::Identities nobody(std::make_shared<aws::Services>(stand_in.environment({{"AWS_ACCESS_KEY_ID", ""}})), eks(kHubArn),
                               {});
  const Status refused = nobody.delete_role("x", {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().category, Category::kAuth);
  EXPECT_TRUE(stand_in.calls().empty());
  const aws::Identities other(std::make_shared<aws::Services>(stand_in.environment({{"AWS_SECRET_ACCESS_KEY", "another"}})),
                              eks(kHubArn), {});
  const Status wrong = other.delete_access_entry(kPrincipal, {});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().reason, "InvalidSignatureException");
  EXPECT_EQ(wrong.error().code, 403);
  EXPECT_EQ(wrong.error().message.find("another"), std::string::npos);
}

class AwsIrsaHub : public ::testing::Test {
 protected:
  AwsIrsaHub() : life(testkit::FakeApi::make(), std::make_shared<FakeClock>(Clock::system()->now())) {
    hub::AwsIrsaOptions options;
    options.hub_arn = kHubArn;
    options.patterns = {"arn:aws:eks:us-east-2:567890123456:cluster/.*"};
    options.tags = {{"team", "fleet"}};
    options.environment = stand_in.environment();
    driver = hub::AwsIrsaDriver::make(std::move(options), life.clusters).value();
  }
  Json cluster(const std::string& name, const std::string& arn = kMemberArn, const std::string& suffix = kSuffix,
               bool accepted = false) {
    const Json made{{"metadata",
                     {{"name", name},
                      {"annotations", {{std::string(aws::kArnAnnotation), arn}, {std::string(aws::kSuffixAnnotation), suffix}}}}},
                    {"spec", {{"hubAcceptsClient", accepted}}}};
    life.api->put(api::managed_clusters(), made);
    life.refresh();
    return made;
  }
  AwsStandIn stand_in;
  hub::HubLife life;
  std::shared_ptr<hub::AwsIrsaDriver> driver;
};

TEST_F(AwsIrsaHub, GivesAClusterItsRoleAndTakesItBack) {
  const Json c1 = cluster("c1");
  EXPECT_TRUE(driver->handles(c1));
  EXPECT_FALSE(driver->handles({{"metadata", {{"name", "c2"}}}}));
  stand_in.set_slow(1);
  const Status early = driver->grant(c1, {});
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().category, Category::kUnavailable) << "EKS does not know the new role yet: again in a moment";
  for (int i = 0; i < 2; ++i) {
    const Status granted = driver->grant(c1, {});
    ASSERT_TRUE(granted) << granted.error().message;
  }
  ASSERT_EQ(stand_in.roles().count(kRole), 1U);
  EXPECT_EQ(stand_in.roles().at(kRole), aws::trust_policy(eks(kHubArn), eks(kMemberArn)));
  EXPECT_EQ(stand_in.entries().at(kPrincipal), (AwsStandIn::Entry{"c1", {"open-cluster-management:c1"}}));
  for (int i = 0; i < 2; ++i) {
    const Status gone = driver->withdraw(c1, {});
    ASSERT_TRUE(gone) << gone.error().message;
  }
  EXPECT_TRUE(stand_in.roles().empty());
  EXPECT_TRUE(stand_in.entries().empty());
  EXPECT_TRUE(stand_in.wrong_signatures().empty());
}

TEST_F(AwsIrsaHub, TrustsWholeArnsAlone) {
  EXPECT_TRUE(driver->trusts(cluster("c1")));
  EXPECT_FALSE(driver->trusts(cluster("c2", "x-" + kMemberArn)));
  EXPECT_FALSE(driver->trusts(cluster("c3", "arn:aws:eks:us-east-2:999999999999:cluster/spoke")));
  hub::AwsIrsaOptions wrong;
  wrong.hub_arn = kHubArn;
  wrong.patterns = {"("};
  EXPECT_EQ(hub::AwsIrsaDriver::make(wrong, life.clusters).error().category, Category::kUsage);
}

TEST_F(AwsIrsaHub, GivesNothingForAnotherHubOrForTheArnOfAnotherCluster) {
  EXPECT_FALSE(driver->grant(cluster("c1", kMemberArn, "0123456789abcdef0123456789abcdef"), {}));
  EXPECT_TRUE(stand_in.calls().empty());
  ASSERT_TRUE(driver->grant(cluster("c1", kMemberArn, kSuffix, true), {}));
  const Json thief = cluster("c2");
  const Status refused = driver->grant(thief, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("c1"), std::string::npos);
  ASSERT_TRUE(driver->withdraw(thief, {}));
  EXPECT_EQ(stand_in.entries().at(kPrincipal).user, "c1") << "what is another cluster's stays";
}

TEST_F(AwsIrsaHub, IsPartOfAcceptanceAndOfDenial) {
  hub::RegistrationDrivers drivers;
  drivers.add(driver);
  hub::AcceptanceController acceptance(life.tools, life.clusters, life.grants_of(drivers));
  hub::AutoAcceptController auto_accept(life.tools, life.clusters, drivers, std::string(api::kHubNamespace));
  cluster("c1");
  ASSERT_TRUE(auto_accept.reconcile("c1", {}));
  life.refresh();
  ASSERT_TRUE(life.cluster_defaulter->reconcile("c1", {}));
  life.refresh();
  ASSERT_TRUE(flag(*life.api->get(api::managed_clusters(), "", "c1"), {"spec", "hubAcceptsClient"}));
  ASSERT_TRUE(acceptance.reconcile("c1", {}));
  life.refresh();
  const auto accepted = life.api->get(api::managed_clusters(), "", "c1");
  EXPECT_TRUE(controller::condition_is(*accepted, api::kConditionHubAccepted, "True"));
  EXPECT_EQ(stand_in.entries().at(kPrincipal).user, "c1");

  Json denied = *accepted;
  denied["spec"]["hubAcceptsClient"] = false;
  life.api->put(api::managed_clusters(), denied);
  life.refresh();
  ASSERT_TRUE(acceptance.reconcile("c1", {}));
  EXPECT_TRUE(stand_in.entries().empty());
  EXPECT_TRUE(stand_in.roles().empty());
  life.refresh();
  ASSERT_TRUE(auto_accept.reconcile("c1", {}));
  EXPECT_FALSE(flag(*life.api->get(api::managed_clusters(), "", "c1"), {"spec", "hubAcceptsClient"}))
      << "whoever denied it stays right";
}

TEST(AwsIrsaAgent, StoresTheKubeconfigOnceTheHubHasAccepted) {
  const auto driver = agent::awsirsa_driver(eks(kHubArn), eks(kMemberArn));
  EXPECT_EQ(driver->annotations().at(std::string(aws::kSuffixAnnotation)), kSuffix);
  EXPECT_EQ(driver->annotations().at(std::string(aws::kArnAnnotation)), kMemberArn);
  const auto hub = testkit::FakeApi::make();
  const auto spoke = testkit::FakeApi::make();
  const agent::HubSecretStore store(spoke->client(), "open-cluster-management-agent", "hub-kubeconfig-secret");
  const agent::Identity me{"c1", "abcde"};
  const agent::Endpoint endpoint{"hub", "https://hub.example.com", "CA", "", ""};
  const auto step = [&] { return driver->advance(hub->client(), store, me, endpoint, *Clock::system()).value().state; };
  EXPECT_EQ(step(), agent::Issuance::State::kWaiting) << "nobody has registered it yet";
  Json cluster{{"metadata", {{"name", "c1"}}}, {"spec", {{"hubAcceptsClient", true}}}};
  hub->put(api::managed_clusters(), cluster);
  EXPECT_EQ(step(), agent::Issuance::State::kWaiting);
  EXPECT_FALSE(spoke->get(kube::resources::secrets(), "open-cluster-management-agent", "hub-kubeconfig-secret"));
  controller::set_condition(cluster["status"]["conditions"] = Json::array(), api::kConditionHubAccepted, "True",
                            "HubClusterAdminAccepted", "", Clock::system()->now());
  hub->put(api::managed_clusters(), cluster);
  EXPECT_EQ(step(), agent::Issuance::State::kIssued);
  const agent::HubSecret stored = store.load().value();
  EXPECT_EQ(driver->why_unusable(stored, me, endpoint, Clock::system()->now()), "");
  EXPECT_NE(driver->why_unusable(stored, me, agent::Endpoint{"hub", "https://other", "CA", "", ""}, Clock::system()->now()), "");
  EXPECT_NE(agent::awsirsa_driver(eks(kMemberArn), eks(kHubArn))->why_unusable(stored, me, endpoint, Clock::system()->now()), "");
  const Json kubeconfig = parse_yaml(stored.get(agent::kKubeconfigKey)).value();
  const Json& exec = object_at(list_at(kubeconfig, {"users"}).front(), {"user", "exec"});
  EXPECT_EQ(str(exec, {"command"}), "aws");
  EXPECT_EQ(string_list_at(exec, {"args"}),
            (std::vector<std::string>{"--region", "us-west-2", "eks", "get-token", "--cluster-name", "hub", "--output", "json",
                                      "--role", kPrincipal}));
}

}  // namespace
}  // namespace fleetadm::registration
