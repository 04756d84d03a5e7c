#include "core/sandbox/node/environment.h"

#include <gtest/gtest.h>

#include "kubeclient/base/encoding.h"

namespace fleetadm::sandbox {
namespace {

const NodeFacts kNode{.name = "n1", .ip = "127.0.0.1", .api_host = "10.1.1.1", .api_port = "6443"};

Json pod() {
  return {{"metadata", {{"name", "p"}, {"namespace", "ns"}, {"uid", "u-1"}, {"labels", {{"app", "x"}, {"tier", "\"q\""}}}}},
          {"spec", {{"serviceAccountName", "robot"}}}};
}

Lookup lookup() {
  Lookup result;
  result.secret = [](std::string_view ns, std::string_view name) -> Result<std::optional<Json>> {
    if (ns == "ns" && name == "s") {
      return std::optional<Json>(Json{{"kind", "Secret"}, {"data", {{"password", base64_encode("hunter2")}}}});
    }
    if (name == "broken") return fail(Category::kUnavailable, "no answer");
    return std::optional<Json>();
  };
  result.config_map = [](std::string_view /*ns*/, std::string_view name) -> Result<std::optional<Json>> {
    if (name != "c") return std::optional<Json>();
    return std::optional<Json>(
        Json{{"kind", "ConfigMap"}, {"data", {{"k", "v"}}}, {"binaryData", {{"b", base64_encode("bytes")}}}});
  };
  result.token = [](const TokenAsk& ask) -> Result<std::string> {
    return "token-of-" + ask.service_account + "-for-" + ask.pod_uid;
  };
  return result;
}

TEST(Expand, FollowsKubernetesRules) {
  const Variables values{{"A", "1"}, {"B_C", "two"}};
  EXPECT_EQ(expand("x$(A)y$(B_C)", values), "x1ytwo");
  EXPECT_EQ(expand("$(NOT)", values), "$(NOT)");
  EXPECT_EQ(expand("$$(A)", values), "$(A)");
  EXPECT_EQ(expand("$$$(A)", values), "$1");
  EXPECT_EQ(expand("$A $", values), "$A $");
  EXPECT_EQ(expand("$(A", values), "$(A");
  EXPECT_EQ(expand("", values), "");
}

TEST(Field, KnowsTheDownwardApi) {
  EXPECT_EQ(field_of(pod(), "metadata.name", kNode).value(), "p");
  EXPECT_EQ(field_of(pod(), "metadata.namespace", kNode).value(), "ns");
  EXPECT_EQ(field_of(pod(), "metadata.labels['app']", kNode).value(), "x");
  EXPECT_EQ(field_of(pod(), "metadata.labels['none']", kNode).value(), "");
  EXPECT_EQ(field_of(pod(), "metadata.labels", kNode).value(), "app=\"x\"\ntier=\"\\\"q\\\"\"");
  EXPECT_EQ(field_of(pod(), "spec.nodeName", kNode).value(), "n1");
  EXPECT_EQ(field_of(pod(), "spec.serviceAccountName", kNode).value(), "robot");
  EXPECT_EQ(field_of(pod(), "status.podIP", kNode).value(), "127.0.0.1");
  EXPECT_FALSE(field_of(pod(), "spec.secrets", kNode));
}

TEST(Environment, TakesValuesFromEverywhereInOrder) {
  const Json container = {
      {"envFrom", Json::array({{{"configMapRef", {{"name", "c"}}}, {"prefix", "CM_"}},
                               {{"secretRef", {{"name", "none"}, {"optional", true}}}}})},
      {"env", Json::array(
                  {{{"name", "PLAIN"}, {"value", "a$(CM_k)"}},
                   {{"name", "CHAIN"}, {"value", "$(PLAIN)b$(LATER)"}},
                   {{"name", "LATER"}, {"value", "z"}},
                   {{"name", "POD_NAME"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "metadata.name"}}}}}},
                   {{"name", "PASSWORD"}, {"valueFrom", {{"secretKeyRef", {{"name", "s"}, {"key", "password"}}}}}},
                   {{"name", "MAYBE"}, {"valueFrom", {{"secretKeyRef", {{"name", "s"}, {"key", "no"}, {"optional", true}}}}}}})}};
  const auto result = environment_of(pod(), container, kNode, lookup());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->at("PLAIN"), "av");
  EXPECT_EQ(result->at("CHAIN"), "avb$(LATER)");
  EXPECT_EQ(result->at("POD_NAME"), "p");
  EXPECT_EQ(result->at("PASSWORD"), "hunter2");
  EXPECT_EQ(result->at("CM_b"), "bytes");
  EXPECT_FALSE(result->contains("MAYBE"));
  EXPECT_EQ(result->at("KUBERNETES_SERVICE_HOST"), "10.1.1.1");
  EXPECT_EQ(result->at("KUBERNETES_SERVICE_PORT"), "6443");
}

TEST(Environment, SaysWhatIsMissing) {
  auto with = [](Json from) { return Json{{"env", Json::array({{{"name", "X"}, {"valueFrom", std::move(from)}}})}}; };
  auto missing = environment_of(pod(), with({{"configMapKeyRef", {{"name", "c"}, {"key", "nope"}}}}), kNode, lookup());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().category, Category::kNotFound);
  EXPECT_NE(missing.error().message.find("nope"), std::string::npos);
  // A read that failed is not an absent object, not even for an optional key.
  auto broken =
      environment_of(pod(), with({{"secretKeyRef", {{"name", "broken"}, {"key", "k"}, {"optional", true}}}}), kNode, lookup());
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().category, Category::kUnavailable);
}

TEST(Environment, LoadsNoCode) {
  Variables variables{{"LD_PRELOAD", "/tmp/x.so"},
                      {"LD_LIBRARY_PATH", "/tmp"},
                      {"OPENSSL_CONF", "/tmp/x"},
                      {"GCONV_PATH", "/tmp"},
                      {"FLEETADM_CREDENTIAL_PLUGIN_POLICY", "AllowAll"},
                      {"FLEETADM_PLUGINS", "true"},
                      {"FLEETADM_PAGER", "/tmp/x"},
                      {"LDAP", "kept"},
                      {"PATH", "/bin"}};
  confine(variables);
  EXPECT_EQ(variables, (Variables{{"FLEETADM_CREDENTIAL_PLUGIN_POLICY", "DenyAll"},
                                  {"FLEETADM_PAGER", "cat"},
                                  {"FLEETADM_PLUGINS", "false"},
                                  {"LDAP", "kept"},
                                  {"PATH", "/bin"}}));
}

TEST(Files, ComeFromSecretsConfigMapsAndProjections) {
  const auto plain = files_of(pod(), {{"name", "v"}, {"secret", {{"secretName", "s"}}}}, kNode, lookup());
  ASSERT_TRUE(plain);
  EXPECT_EQ(*plain, (std::map<std::string, std::string>{{"password", "hunter2"}}));

  const Json sources =
      Json::array({{{"serviceAccountToken", {{"path", "token"}, {"expirationSeconds", 3607}}}},
                   {{"configMap", {{"name", "c"}, {"items", Json::array({{{"key", "k"}, {"path", "ca.crt"}}})}}}},
                   {{"downwardAPI",
                     {{"items", Json::array({{{"path", "namespace"}, {"fieldRef", {{"fieldPath", "metadata.namespace"}}}}})}}}}});
  const auto account = files_of(pod(), {{"name", "a"}, {"projected", {{"sources", sources}}}}, kNode, lookup());
  ASSERT_TRUE(account);
  EXPECT_EQ(*account,
            (std::map<std::string, std::string>{{"token", "token-of-robot-for-u-1"}, {"ca.crt", "v"}, {"namespace", "ns"}}));

  EXPECT_FALSE(files_of(pod(), {{"name", "v"}, {"secret", {{"secretName", "absent"}}}}, kNode, lookup()));
  EXPECT_TRUE(files_of(pod(), {{"name", "v"}, {"secret", {{"secretName", "absent"}, {"optional", true}}}}, kNode, lookup()));
}

TEST(Relocate, MovesPathsUnderMountPoints) {
  const std::map<std::string, std::string> folders{{"/spoke/hub", "/tmp/a"}, {"/spoke/hub/sub", "/tmp/b"}};
  EXPECT_EQ(relocate("--kubeconfig=/spoke/hub/kubeconfig", folders), "--kubeconfig=/tmp/a/kubeconfig");
  EXPECT_EQ(relocate("/spoke/hub", folders), "/tmp/a");
  EXPECT_EQ(relocate("/spoke/hub/sub/x:/spoke/hub", folders), "/tmp/b/x:/tmp/a");
  EXPECT_EQ(relocate("/spoke/hubble", folders), "/spoke/hubble");
  EXPECT_EQ(relocate("/other/spoke/hub", folders), "/other/spoke/hub");
  EXPECT_EQ(relocate("", folders), "");
}

TEST(Renumber, ReplacesAPortAtTheEnd) {
  const std::map<int, int> ports{{8443, 30001}, {443, 30002}};
  EXPECT_EQ(renumber("--health-address=:8443", ports), "--health-address=:30001");
  EXPECT_EQ(renumber("127.0.0.1:443", ports), "127.0.0.1:30002");
  EXPECT_EQ(renumber("https://hub:6443", ports), "https://hub:6443");
  EXPECT_EQ(renumber("8443", ports), "8443");
}

TEST(Image, HasABaseName) {
  EXPECT_EQ(image_base("fleetadm"), "fleetadm");
  EXPECT_EQ(image_base("quay.io:5000/x/fleetadm:v1"), "fleetadm");
  EXPECT_EQ(image_base("x/fleetadm@sha256:abc"), "fleetadm");
  EXPECT_EQ(image_base("localhost:5000/nginx"), "nginx");
  EXPECT_EQ(image_base("fleetadm/other"), "other");
  EXPECT_EQ(image_base(""), "");
}

TEST(Image, OfARegistryThatCannotExistIsNotPulled) {
  for (const char* image : {"registry.invalid/fleetadm:v1", "a.b.invalid:5000/x/y@sha256:abc"})
    EXPECT_FALSE(can_be_pulled(image)) << image;
  for (const char* image : {"fleetadm", "nginx.invalid", "invalid/fleetadm", "registry.example.com/a.invalid/x", ""})
    EXPECT_TRUE(can_be_pulled(image)) << image;
}

}  // namespace
}  // namespace fleetadm::sandbox
