#include "core/msa/rules/exec_credential.h"

#include <gtest/gtest.h>

#include "core/msa/rules/token_secret.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::msa {
namespace {

std::string why_not(const std::string& info) {
  const auto request = exec_request(info);
  return request ? "" : request.error().message;
}

std::string info_of(const Json& spec, const std::string& version = "client.authentication.k8s.io/v1") {
  return dump_json({{"apiVersion", version}, {"kind", "ExecCredential"}, {"spec", spec}});
}

TEST(ExecRequest, NamesTheClusterAndTheVersionOfTheAnswer) {
  const Json cluster{{"server", "https://c1.example.com"}, {"config", {{"clusterName", "c1"}}}};
  for (const char* version : {"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"}) {
    const auto request = exec_request(info_of({{"cluster", cluster}}, version));
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(request->api_version, version);
    EXPECT_EQ(request->cluster, "c1");
    EXPECT_EQ(request->server, "https://c1.example.com");
  }
}

TEST(ExecRequest, SaysWhatTheConfigurationLacks) {
  EXPECT_EQ(why_not("").find("KUBERNETES_EXEC_INFO is not set"), 0U);
  for (const char* broken : {"x", "[]", "{}", "{\"kind\": \"Pod\"}", "null", "{\"kind\": 1}"})
    EXPECT_EQ(why_not(broken), "KUBERNETES_EXEC_INFO is not an ExecCredential") << broken;
  EXPECT_EQ(why_not(info_of(Json::object(), "client.authentication.k8s.io/v1alpha1")),
            "KUBERNETES_EXEC_INFO has apiVersion \"client.authentication.k8s.io/v1alpha1\"");
  for (const Json& spec : {Json::object(), Json(), Json(3), Json{{"cluster", nullptr}}})
    EXPECT_EQ(why_not(info_of(spec)), "KUBERNETES_EXEC_INFO has no spec.cluster") << spec;
  const auto none = exec_request(info_of({{"interactive", false}}));
  EXPECT_NE(none.error().hint.find("provideClusterInfo: true"), std::string::npos);
  for (const Json& config : {Json(), Json::object(), Json{{"clusterName", ""}}, Json{{"clusterName", 7}}, Json::array()}) {
    EXPECT_EQ(why_not(info_of({{"cluster", {{"server", "s"}, {"config", config}}}})),
              "KUBERNETES_EXEC_INFO has no spec.cluster.config.clusterName")
        << config;
  }
}

Json holding(const std::string& token) {
  return {{"metadata", {{"name", "app"}, {"namespace", "c1"}}}, {"data", {{"token", base64_encode(token)}}}};
}

std::string token_until(std::int64_t expires) {
  const Json claims{{"iat", 1'700'000'000}, {"exp", expires}, {"kubernetes.io", {{"serviceaccount", {{"uid", "u"}}}}}};
  return "e30." + base64url_encode(dump_json(claims)) + ".c2ln";
}

TEST(UsableToken, IsOneThatAnApiServerWouldTake) {
  const Instant now = *parse_time("2026-03-01T10:00:00Z");
  const std::string good = token_until(2'000'000'000);
  const auto usable = usable_token(holding(good), now);
  ASSERT_TRUE(usable) << usable.error().message;
  const Json answer = exec_credential("v", usable->text, usable->claims.expires);
  EXPECT_EQ(answer, (Json{{"apiVersion", "v"},
                          {"kind", "ExecCredential"},
                          {"status", {{"token", good}, {"expirationTimestamp", "2033-05-18T03:33:20Z"}}}}));
  for (const std::string& broken : {std::string(), std::string("x"), good + "\n", good + "; rm", std::string("e30.e30.e30")}) {
    const auto none = usable_token(holding(broken), now);
    ASSERT_FALSE(none) << broken;
    EXPECT_EQ(none.error().message, "what Secret c1/app holds is not a token of a ServiceAccount");
  }
  const auto old = usable_token(holding(token_until(1'772'359'200)), now);
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().message, "it expired at 2026-03-01T10:00:00Z");
}

}  // namespace
}  // namespace fleetadm::msa
