// A Klusterlet as people bring it along: every field is told, and none is taken for another.
#include "core/registration/join/klusterlet.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/yaml.h"

namespace fleetadm::join {
namespace {

std::vector<Json> documents(const std::string& text) {
  const auto parsed = parse_yaml_documents(text);
  EXPECT_TRUE(parsed) << parsed.error().message;
  std::vector<Json> all;
  for (const YamlDocument& document : *parsed) all.push_back(document.value);
  return all;
}

std::vector<Json> klusterlet(const std::string& spec) {
  return documents("apiVersion: operator.open-cluster-management.io/v1\nkind: Klusterlet\nmetadata: {name: klusterlet}\nspec: " +
                   spec);
}

KlusterletSettings read(const std::vector<Json>& objects) {
  auto settings = read_klusterlet(objects);
  EXPECT_TRUE(settings) << settings.error().message;
  return settings.value_or(KlusterletSettings{});
}

/// "FIELD: outcome" or "FIELD has no effect: why"; empty: the field is not told.
std::string told(const KlusterletSettings& settings, const std::string& field) {
  for (const FieldOutcome& one : settings.fields) {
    if (one.field == field) return (one.effective ? "becomes " : "no effect: ") + one.outcome;
  }
  return {};
}

bool has(const KlusterletSettings& settings, const std::string& arg) {
  return std::find(settings.agent_args.begin(), settings.agent_args.end(), arg) != settings.agent_args.end();
}

const char* const kFull = R"(
  clusterName: c1
  namespace: open-cluster-management-agent
  deployOption: {mode: Singleton}
  imagePullSpec: quay.io/open-cluster-management/registration-operator:latest
  externalServerURLs: [{url: "https://c1.example.com:6443", caBundle: Q0E=}, {url: ""}, {url: "http://plain"}]
  hubApiServerHostAlias: {ip: 10.0.0.1, hostname: hub.example.com}
  nodePlacement: {nodeSelector: {role: infra}, tolerations: [{key: infra, operator: Exists}]}
  priorityClassName: system-cluster-critical
  resourceRequirement: {type: ResourceRequirement, resourceRequirements: {limits: {memory: 1Gi}}}
  registrationConfiguration:
    registrationDriver: {authType: csr}
    addOnKubeClientRegistrationDriver: {authType: token, token: {expirationSeconds: 7200}}
    clientCertExpirationSeconds: 86400
    clusterAnnotations: {agent.open-cluster-management.io/owner: a, other: b}
    clusterLabels: {env: prod}
    clusterClaimConfiguration: {maxCustomClusterClaims: 30, reservedClusterClaimSuffixes: [.example.com, .example.org]}
    kubeAPIQPS: 50
    featureGates: [{feature: NetworkPolicies, mode: Enable}, {feature: ClusterClaim, mode: Enable},
                   {feature: ClusterProperty, mode: Disable}, {feature: Nonsense, mode: Enable}]
  workConfiguration:
    appliedManifestWorkEvictionGracePeriod: 100m
    statusSyncInterval: 10s
    featureGates: [{feature: RawFeedbackJsonString, mode: Enable}]
)";

TEST(Klusterlet, BecomesWhatTheAgentHas) {
  const KlusterletSettings settings = read(klusterlet(kFull));
  EXPECT_EQ(settings.cluster_name, "c1");
  EXPECT_EQ(settings.external_server_urls, std::vector<std::string>{"https://c1.example.com:6443"});
  EXPECT_EQ(settings.pods.node_selector, (Json{{"role", "infra"}}));
  EXPECT_EQ(settings.pods.tolerations, Json::array({{{"key", "infra"}, {"operator", "Exists"}}}));
  EXPECT_EQ(settings.pods.priority_class, "system-cluster-critical");
  EXPECT_EQ(settings.pods.resources, (Json{{"limits", {{"memory", "1Gi"}}}}));
  EXPECT_EQ(settings.pods.host_aliases, Json::array({{{"ip", "10.0.0.1"}, {"hostnames", {"hub.example.com"}}}}));
  EXPECT_TRUE(settings.network_policy);
  for (const char* arg :
       {"--addon-driver=token", "--addon-token-expiration-seconds=7200", "--client-cert-expiration-seconds=86400",
        "--cluster-annotations=agent.open-cluster-management.io/owner=a", "--cluster-labels=env=prod",
        "--max-custom-cluster-claims=30", "--reserved-cluster-claim-suffixes=.example.com,.example.org",
        "--work-eviction-grace=100m", "--raw-feedback"})
    EXPECT_TRUE(has(settings, arg)) << arg;
  EXPECT_EQ(settings.agent_args.size(), 9U) << "and nothing else";
}

TEST(Klusterlet, SaysWhatHasNoEffectAndWhy) {
  const KlusterletSettings settings = read(klusterlet(kFull));
  for (const auto& [field, why] :
       std::vector<std::pair<std::string, std::string>>{{"spec.imagePullSpec", "--image"},
                                                        {"spec.externalServerURLs.caBundle", "itself"},
                                                        {"spec.externalServerURLs", "\"http://plain\" is not an https URL"},
                                                        {"spec.registrationConfiguration.clusterAnnotations.other", "below"},
                                                        {"spec.registrationConfiguration.kubeAPIQPS", "priority and fairness"},
                                                        {"spec.registrationConfiguration.featureGates.ClusterProperty", "always"},
                                                        {"spec.registrationConfiguration.featureGates.Nonsense", "no gate"},
                                                        {"spec.workConfiguration.statusSyncInterval", "as they happen"}}) {
    const std::string line = told(settings, field);
    EXPECT_TRUE(line.starts_with("no effect: ")) << field << ": " << line;
    EXPECT_NE(line.find(why), std::string::npos) << field << ": " << line;
  }
  EXPECT_TRUE(told(settings, "spec.registrationConfiguration.featureGates.ClusterClaim").starts_with("becomes "));
  const KlusterletSettings odd =
      read(klusterlet("{namespace: elsewhere, surprise: 1, nodePlacement: [], workConfiguration: {x: 1}}"));
  EXPECT_NE(told(odd, "spec.namespace").find("open-cluster-management-agent"), std::string::npos);
  EXPECT_NE(told(odd, "spec.surprise").find("no such field"), std::string::npos);
  EXPECT_NE(told(odd, "spec.workConfiguration.x").find("no such field"), std::string::npos);
  EXPECT_NE(told(odd, "spec.nodePlacement").find("another type"), std::string::npos);
}

TEST(Klusterlet, EveryFieldOfTheSchemaIsKnown) {
  // All fields of v1 below spec, at their depth.
  const KlusterletSettings settings = read(klusterlet(R"({clusterName: c1, deployOption: {mode: Default}, externalServerURLs: [],
    hubApiServerHostAlias: {ip: 10.0.0.1, hostname: h}, imagePullSpec: a, namespace: b, nodePlacement: {nodeSelector: {}, tolerations: []},
    priorityClassName: p, registrationConfiguration: {addOnKubeClientRegistrationDriver: {authType: csr, token: {expirationSeconds: 0}},
    bootstrapKubeConfigs: {type: LocalSecrets, localSecretsConfig: {hubConnectionTimeoutSeconds: 600, kubeConfigSecrets: [{name: x}, {name: y}]}},
    clientCertExpirationSeconds: 0, clusterAnnotations: {}, clusterClaimConfiguration: {maxCustomClusterClaims: 20, reservedClusterClaimSuffixes: []},
    clusterLabels: {}, featureGates: [], kubeAPIBurst: 100, kubeAPIQPS: 50, registrationDriver: {authType: csr, awsIrsa: {hubClusterArn: a}}},
    registrationImagePullSpec: r, resourceRequirement: {type: Default, resourceRequirements: {}}, workConfiguration:
    {appliedManifestWorkEvictionGracePeriod: 1h, featureGates: [], hubKubeAPIBurst: 1, hubKubeAPIQPS: 1, kubeAPIBurst: 1, kubeAPIQPS: 1,
    statusSyncInterval: 10s}, workImagePullSpec: w})"));
  for (const FieldOutcome& field : settings.fields)
    EXPECT_EQ(field.outcome.find("no such field"), std::string::npos) << field.field;
  const std::string hubs = "spec.registrationConfiguration.bootstrapKubeConfigs.localSecretsConfig.kubeConfigSecrets";
  EXPECT_NE(told(settings, hubs).find("first Secret, x"), std::string::npos) << told(settings, hubs);
}

TEST(Klusterlet, SeveralHubsAreThoseOfTheAgent) {
  const std::string hubs =
      "bootstrapKubeConfigs: {type: LocalSecrets, localSecretsConfig: {hubConnectionTimeoutSeconds: 300, "
      "kubeConfigSecrets: [{name: hub-a}, {name: hub-b}]}}";
  const std::string field = "spec.registrationConfiguration.bootstrapKubeConfigs.localSecretsConfig.";
  const KlusterletSettings on =
      read(klusterlet("{registrationConfiguration: {featureGates: [{feature: MultipleHubs, mode: Enable}], " + hubs + "}}"));
  EXPECT_EQ(on.agent_args, (std::vector<std::string>{"--bootstrap-secret=bootstrap-hub-kubeconfig", "--bootstrap-secret=hub-b",
                                                     "--hub-connection-timeout=300s"}));
  EXPECT_NE(told(on, field + "kubeConfigSecrets").find("after it those of hub-b"), std::string::npos);
  const KlusterletSettings off = read(klusterlet("{registrationConfiguration: {" + hubs + "}}"));
  EXPECT_TRUE(off.agent_args.empty());
  EXPECT_NE(told(off, field + "hubConnectionTimeoutSeconds").find("one hub"), std::string::npos);
}

TEST(Klusterlet, WaysOfJoiningThatTheAgentDoesNotHaveAreRefused) {
  for (const char* spec : {"{registrationConfiguration: {registrationDriver: {authType: grpc}}}"}) {
    const auto settings = read_klusterlet(klusterlet(spec));
    ASSERT_FALSE(settings) << spec;
    EXPECT_EQ(settings.error().category, Category::kUnsupported);
    EXPECT_FALSE(settings.error().hint.empty());
  }
}

TEST(Klusterlet, OfHostedModeIsThatOfJoin) {
  for (const char* mode : {"Hosted", "SingletonHosted"}) {
    const KlusterletSettings settings = read(klusterlet(std::string("{deployOption: {mode: ") + mode + "}}"));
    EXPECT_TRUE(settings.hosted);
    EXPECT_NE(told(settings, "spec.deployOption.mode").find("--mode hosted"), std::string::npos);
  }
  EXPECT_FALSE(read(klusterlet("{deployOption: {mode: Singleton}}")).hosted);
  EXPECT_TRUE(read_klusterlet(klusterlet("{}"), true)->hosted);
}

TEST(Klusterlet, OfHostedModeSetsWhatIsOfOneMemberAlone) {
  const KlusterletSettings settings = read(klusterlet(
      "{deployOption: {mode: Hosted}, workConfiguration: {appliedManifestWorkEvictionGracePeriod: 5m}, "
      "registrationConfiguration: {clientCertExpirationSeconds: 7200, featureGates: [{feature: MultipleHubs, mode: Enable}], "
      "bootstrapKubeConfigs: {type: LocalSecrets, localSecretsConfig: {kubeConfigSecrets: [{name: a}, {name: b}]}}}}"));
  EXPECT_EQ(settings.agent_args, std::vector<std::string>{"--client-cert-expiration-seconds=7200"});
  EXPECT_NE(told(settings, "spec.workConfiguration.appliedManifestWorkEvictionGracePeriod").find("the same for all members"),
            std::string::npos);
  const auto further = std::find_if(settings.fields.begin(), settings.fields.end(), [](const FieldOutcome& field) {
    return field.outcome.find("with --fallback-hub") != std::string::npos;
  });
  ASSERT_NE(further, settings.fields.end());
  EXPECT_FALSE(further->effective);
}

TEST(Klusterlet, MayRegisterWithAnIdentityOfAws) {
  const KlusterletSettings settings =
      read(klusterlet(R"({registrationConfiguration: {registrationDriver: {authType: awsirsa, awsIrsa: {
      hubClusterArn: "arn:aws:eks:us-west-2:123456789012:cluster/hub",
      managedClusterArn: "arn:aws:eks:us-west-2:123456789012:cluster/c1"}}}})"));
  EXPECT_EQ(settings.registration_auth, "awsirsa");
  EXPECT_EQ(settings.hub_cluster_arn, "arn:aws:eks:us-west-2:123456789012:cluster/hub");
  EXPECT_EQ(settings.managed_cluster_arn, "arn:aws:eks:us-west-2:123456789012:cluster/c1");
  EXPECT_NE(told(settings, "spec.registrationConfiguration.registrationDriver.awsIrsa.hubClusterArn").find("--hub-cluster-arn"),
            std::string::npos);
}

TEST(Klusterlet, IsExactlyOne) {
  EXPECT_FALSE(read_klusterlet({}));
  std::vector<Json> two = klusterlet("{}");
  two.push_back(two.front());
  EXPECT_FALSE(read_klusterlet(two));
  EXPECT_FALSE(read_klusterlet(documents("{apiVersion: example.com/v1, kind: Klusterlet, metadata: {name: a}}")));
}

std::string kubeconfig(const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: b\ncontexts: [{name: a, context: {cluster: a, user: a}}, {name: b, context: "
         "{cluster: b, user: b}}]\nclusters: [{name: a, cluster: {server: https://other}}, {name: b, cluster: {server: "
         "https://hub:6443, certificate-authority-data: " +
         base64_encode("PEM") +
         ", proxy-url: http://proxy:3128}}]\nusers: [{name: a, user: {token: wrong}}, {name: b, user: " + user + "}]\n";
}

TEST(Klusterlet, TheMemberOfHostedModeIsThatOfItsSecret) {
  const auto with = [](const std::string& spec, const std::string& user) {
    std::vector<Json> objects = klusterlet(spec);
    objects.push_back({{"apiVersion", "v1"},
                       {"kind", "Secret"},
                       {"metadata", {{"name", "external-managed-kubeconfig"}, {"namespace", "k"}}},
                       {"stringData", {{"kubeconfig", kubeconfig(user)}}}});
    return read_klusterlet(objects);
  };
  const auto settings = with("{deployOption: {mode: Hosted}}", "{token: t}");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->member_kubeconfig, kubeconfig("{token: t}"));
  EXPECT_TRUE(with("{}", "{token: t}")->member_kubeconfig.empty()) << "of a cluster that runs its agent itself";
  const auto program = with("{deployOption: {mode: Hosted}}", "{exec: {command: sh}}");
  ASSERT_FALSE(program);
  EXPECT_NE(program.error().message.find("must not name programs"), std::string::npos);
}

TEST(Klusterlet, TheHubIsThatOfTheBootstrapSecret) {
  std::vector<Json> objects = klusterlet("{clusterName: c1}");
  objects.push_back({{"apiVersion", "v1"},
                     {"kind", "Secret"},
                     {"metadata", {{"name", "bootstrap-hub-kubeconfig"}, {"namespace", "open-cluster-management-agent"}}},
                     {"data", {{"kubeconfig", base64_encode(kubeconfig("{token: s3cr3t}"))}}}});
  objects.push_back({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "x"}}}});
  objects.push_back({{"apiVersion", "cluster.open-cluster-management.io/v1alpha1"},
                     {"kind", "ClusterClaim"},
                     {"metadata", {{"name", "region"}}},
                     {"spec", {{"value", "eu"}}}});
  const KlusterletSettings settings = read(objects);
  EXPECT_EQ(settings.hub_server, "https://hub:6443");
  EXPECT_EQ(settings.hub_ca_pem, "PEM");
  EXPECT_EQ(settings.hub_token, "s3cr3t");
  EXPECT_EQ(settings.hub_proxy_url, "http://proxy:3128");
  EXPECT_EQ(settings.claims, (std::vector<std::pair<std::string, std::string>>{{"region", "eu"}}));
  EXPECT_TRUE(told(settings, "Namespace x").starts_with("no effect: "));
  for (const FieldOutcome& field : settings.fields) EXPECT_EQ(field.outcome.find("s3cr3t"), std::string::npos) << field.field;
}

TEST(Klusterlet, ASecretNamesNoFilesOfThisMachine) {
  std::vector<Json> objects = klusterlet(
      "{registrationConfiguration: {bootstrapKubeConfigs: {type: LocalSecrets, "
      "localSecretsConfig: {kubeConfigSecrets: [{name: hub-a}, {name: hub-b}]}}}}");
  objects.push_back({{"kind", "Secret"},
                     {"metadata", {{"name", "hub-a"}}},
                     {"stringData", {{"kubeconfig", kubeconfig("{tokenFile: /etc/passwd, client-certificate: /etc/passwd}")}}}});
  objects.push_back({{"kind", "Secret"}, {"metadata", {{"name", "bootstrap-hub-kubeconfig"}}}, {"data", Json::object()}});
  const KlusterletSettings settings = read(objects);
  EXPECT_EQ(settings.hub_server, "https://hub:6443");
  EXPECT_EQ(settings.hub_token, "");
  objects[1]["stringData"]["kubeconfig"] = "a: [";
  EXPECT_FALSE(read_klusterlet(objects));
}

}  // namespace
}  // namespace fleetadm::join
