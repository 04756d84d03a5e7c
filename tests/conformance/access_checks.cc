// A, T, Q: access reviews, RBAC, impersonation, tokens, certificate requests.
#include <gtest/gtest.h>

#include "kubeclient/base/encoding.h"
#include "tests/conformance/lab.h"

namespace fleetadm::conformance {
namespace {

const std::string kAuthorization = "/apis/authorization.k8s.io/v1/";
const std::string kAuthentication = "/apis/authentication.k8s.io/v1/";
const std::string kRequests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

Json review(const std::string& kind, const Json& spec) {
  return {{"apiVersion", "authorization.k8s.io/v1"}, {"kind", kind}, {"spec", spec}};
}
Json attributes(Lab& lab) { return {{"namespace", lab.ns()}, {"verb", "get"}, {"resource", "pods"}}; }
std::string roles(Lab& lab) { return "/apis/rbac.authorization.k8s.io/v1/namespaces/" + lab.ns() + "/roles"; }
std::string bindings(Lab& lab) { return "/apis/rbac.authorization.k8s.io/v1/namespaces/" + lab.ns() + "/rolebindings"; }
Json role(const std::string& name, const Json& rule) {
  return {{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", "Role"},
          {"metadata", {{"name", name}}},
          {"rules", Json::array({rule})}};
}
Json binding(Lab& lab, const std::string& role_name, const std::string& account) {
  return {{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", "RoleBinding"},
          {"metadata", {{"name", role_name}}},
          {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", role_name}}},
          {"subjects", Json::array({{{"kind", "ServiceAccount"}, {"name", account}, {"namespace", lab.ns()}}})}};
}
Answer as(Lab& lab, const std::string& token, const std::string& path) { return lab.send({.path = path, .token = token}); }
/// A rule, a binding and the token of the account it is for; waits until it holds.
std::string granted(Lab& lab, const Json& rule, const std::string& probe) {
  const auto token = lab.account_token("bound");
  expect(lab.post(roles(lab), role("r", rule)), 201);
  expect(lab.post(bindings(lab), binding(lab, "r", "bound")), 201);
  EXPECT_TRUE(lab.eventually([&] { return as(lab, token, probe).status != 403; }));
  return token;
}

void a01(Lab& lab) {
  const auto answer = lab.post(kAuthorization + "selfsubjectaccessreviews",
                               review("SelfSubjectAccessReview", {{"resourceAttributes", attributes(lab)}}));
  expect(answer, 201);
  EXPECT_TRUE(flag(answer.json(), {"status", "allowed"}));
}
void a02(Lab& lab) {
  const auto answer = lab.post(kAuthorization + "subjectaccessreviews",
                               review("SubjectAccessReview", {{"user", "nobody"}, {"resourceAttributes", attributes(lab)}}));
  expect(answer, 201);
  EXPECT_FALSE(flag(answer.json(), {"status", "allowed"}, true));
  EXPECT_FALSE(flag(answer.json(), {"status", "denied"}));
}
void a03(Lab& lab) {
  expect(lab.post(kAuthorization + "selfsubjectaccessreviews",
                  review("SelfSubjectAccessReview", {{"resourceAttributes", attributes(lab)},
                                                     {"nonResourceAttributes", {{"path", "/x"}, {"verb", "get"}}}})),
         422, "Invalid");
}
void a04(Lab& lab) {
  const auto answer = as(lab, lab.account_token("fresh"), lab.core("secrets"));
  expect(answer, 403, "Forbidden");
  EXPECT_NE(answer.message().find("cannot list resource \"secrets\""), std::string::npos) << answer.message();
}
void a05(Lab& lab) {
  const auto token = granted(lab, {{"verbs", {"get", "list"}}, {"apiGroups", {""}}, {"resources", {"pods"}}}, lab.core("pods"));
  expect(as(lab, token, lab.core("pods")), 200);
  expect(as(lab, token, "/api/v1/namespaces/default/pods"), 403, "Forbidden");
  expect(as(lab, token, lab.core("pods") + "/x/log"), 403, "Forbidden");
}
void a06(Lab& lab) {
  lab.post(lab.maps(), lab.config_map("one"));
  const auto token =
      granted(lab, {{"verbs", {"get"}}, {"apiGroups", {""}}, {"resources", {"configmaps"}}, {"resourceNames", {"one"}}},
              lab.maps() + "/one");
  expect(as(lab, token, lab.maps() + "/one"), 200);
  expect(as(lab, token, lab.maps() + "/two"), 403, "Forbidden");
}
void a07(Lab& lab) {
  const auto token =
      granted(lab, {{"verbs", {"create", "get", "list"}}, {"apiGroups", {"rbac.authorization.k8s.io"}}, {"resources", {"roles"}}},
              roles(lab));
  const Json wide = role("wide", {{"verbs", {"*"}}, {"apiGroups", {"*"}}, {"resources", {"*"}}});
  expect(lab.send({.method = "POST", .path = roles(lab), .body = dump_json(wide), .token = token}), 403, "Forbidden");
}
void a08(Lab& lab) {
  lab.post(roles(lab), role("r", {{"verbs", {"get"}}, {"apiGroups", {""}}, {"resources", {"pods"}}}));
  lab.post(roles(lab), role("other", {{"verbs", {"get"}}, {"apiGroups", {""}}, {"resources", {"pods"}}}));
  Json made = lab.post(bindings(lab), binding(lab, "r", "bound")).json();
  made["roleRef"]["name"] = "other";
  expect(lab.put(bindings(lab) + "/r", made), 422, "Invalid");
}
void a09(Lab& lab) {
  const Json body = {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "SelfSubjectReview"}};
  const auto answer = lab.send({.method = "POST",
                                .path = kAuthentication + "selfsubjectreviews",
                                .body = dump_json(body),
                                .headers = {"Impersonate-User: jane"}});
  expect(answer, 201);
  EXPECT_EQ(str(answer.json(), {"status", "userInfo", "username"}), "jane");
  EXPECT_EQ(string_list_at(answer.json(), {"status", "userInfo", "groups"}), std::vector<std::string>{"system:authenticated"});
}
void a10(Lab& lab) {
  const auto answer = lab.send({.path = lab.core("secrets"), .anonymous = true});
  EXPECT_TRUE(answer.status == 401 || answer.status == 403) << answer.status;
}
void a11(Lab& lab) { expect(lab.send({.path = lab.core("secrets"), .token = "x"}), 401, "Unauthorized"); }

Json token_request(int seconds) {
  return {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", {{"expirationSeconds", seconds}}}};
}
void t01(Lab& lab) {
  lab.account_token("t");
  const auto answer = lab.post(lab.core("serviceaccounts") + "/t/token", token_request(600));
  expect(answer, 201);
  EXPECT_FALSE(str(answer.json(), {"status", "token"}).empty());
  EXPECT_FALSE(str(answer.json(), {"status", "expirationTimestamp"}).empty());
}
void t02(Lab& lab) {
  lab.account_token("t");
  expect(lab.post(lab.core("serviceaccounts") + "/t/token", token_request(10)), 422, "Invalid");
}
Json reviewed(Lab& lab, const std::string& token) {
  return lab
      .post(kAuthentication + "tokenreviews",
            {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenReview"}, {"spec", {{"token", token}}}})
      .json();
}
void t03(Lab& lab) {
  const Json answer = reviewed(lab, lab.account_token("t"));
  EXPECT_TRUE(flag(answer, {"status", "authenticated"})) << dump_json(answer);
  EXPECT_EQ(str(answer, {"status", "user", "username"}), "system:serviceaccount:" + lab.ns() + ":t");
}
void t04(Lab& lab) {
  const auto token = lab.account_token("t");
  lab.remove(lab.core("serviceaccounts") + "/t");
  EXPECT_TRUE(lab.eventually([&] { return !flag(reviewed(lab, token), {"status", "authenticated"}); }, 15));
}

Json token_secret(const std::string& account) {
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata", {{"name", "held"}, {"annotations", {{"kubernetes.io/service-account.name", account}}}}},
          {"type", "kubernetes.io/service-account-token"}};
}
void t05(Lab& lab) {
  lab.account_token("t");
  expect(lab.post(lab.core("secrets"), token_secret("t")), 201);
  const auto path = lab.core("secrets") + "/held";
  EXPECT_TRUE(lab.eventually([&] { return !str(lab.get(path).json(), {"data", "token"}).empty(); }));
  const Json secret = lab.get(path).json();
  const Json account = lab.get(lab.core("serviceaccounts") + "/t").json();
  EXPECT_EQ(str(secret, {"metadata", "annotations", "kubernetes.io/service-account.uid"}), uid_of(account));
  EXPECT_EQ(base64_decode(str(secret, {"data", "namespace"})).value_or(""), lab.ns());
  EXPECT_EQ(base64_decode(str(secret, {"data", "ca.crt"})).value_or("").find("-----BEGIN CERTIFICATE-----"), 0U);
  const auto token = base64_decode(str(secret, {"data", "token"})).value_or("");
  const Json answer = reviewed(lab, token);
  EXPECT_TRUE(flag(answer, {"status", "authenticated"})) << dump_json(answer);
  EXPECT_EQ(str(answer, {"status", "user", "username"}), "system:serviceaccount:" + lab.ns() + ":t");
  EXPECT_EQ(str(answer, {"status", "user", "uid"}), uid_of(account));
  lab.remove(lab.core("serviceaccounts") + "/t");
  EXPECT_TRUE(lab.eventually([&] { return lab.get(path).status == 404; }));
  EXPECT_TRUE(lab.eventually([&] { return !flag(reviewed(lab, token), {"status", "authenticated"}); }, 15));
}
void t06(Lab& lab) {
  Json nameless = token_secret("t");
  nameless["metadata"].erase("annotations");
  const auto answer = lab.post(lab.core("secrets"), nameless);
  expect(answer, 422, "Invalid");
  EXPECT_TRUE(has_cause(answer, "metadata.annotations[kubernetes.io/service-account.name]")) << answer.body;
  expect(lab.post(lab.core("secrets"), token_secret("absent")), 201);
  EXPECT_TRUE(lab.eventually([&] { return lab.get(lab.core("secrets") + "/held").status == 404; }));
}

Json request_of(Lab& lab, const pki::Subject& subject) {
  const auto key = pki::generate_key();
  const auto pem = key ? pki::make_csr(*key, subject) : Result<std::string>(fail(Category::kInternal, "no key"));
  EXPECT_TRUE(pem.has_value());
  return {{"apiVersion", "certificates.k8s.io/v1"},
          {"kind", "CertificateSigningRequest"},
          {"metadata", {{"name", lab.ns()}}},
          {"spec",
           {{"request", base64_encode(pem.value_or(""))},
            {"signerName", "kubernetes.io/kube-apiserver-client"},
            {"usages", {"client auth"}}}}};
}
Json approval(const Json& request, std::initializer_list<const char*> types) {
  Json out = request;
  out["status"]["conditions"] = Json::array();
  for (const char* type : types)
    out["status"]["conditions"].push_back({{"type", type}, {"status", "True"}, {"reason", "Test"}, {"message", "test"}});
  return out;
}
void q01(Lab& lab) {
  const auto answer = lab.post(kRequests, request_of(lab, {"jane", {}, {}}));
  expect(answer, 201);
  EXPECT_EQ(str(answer.json(), {"spec", "username"}), "conformance");
  EXPECT_TRUE(object_at(answer.json(), {"status"}).empty());
  lab.remove(kRequests + "/" + lab.ns());
}
void q02(Lab& lab) {
  Json request = request_of(lab, {"jane", {}, {}});
  request["spec"]["request"] = base64_encode("nonsense");
  const auto answer = lab.post(kRequests, request);
  expect(answer, 422, "Invalid");
  EXPECT_TRUE(has_cause(answer, "spec.request"));
}
void q03(Lab& lab) {
  const Json made = lab.post(kRequests, request_of(lab, {"jane", {}, {}})).json();
  const auto answer = lab.put(kRequests + "/" + lab.ns() + "/approval", approval(made, {"Approved"}));
  expect(answer, 200);
  const Json condition =
      list_at(answer.json(), {"status", "conditions"}).empty() ? Json() : list_at(answer.json(), {"status", "conditions"})[0];
  EXPECT_EQ(str(condition, {"type"}), "Approved");
  EXPECT_FALSE(str(condition, {"lastUpdateTime"}).empty());
  lab.remove(kRequests + "/" + lab.ns());
}
void q04(Lab& lab) {
  const Json made = lab.post(kRequests, request_of(lab, {"jane", {}, {}})).json();
  expect(lab.put(kRequests + "/" + lab.ns() + "/approval", approval(made, {"Approved", "Denied"})), 422, "Invalid");
  lab.remove(kRequests + "/" + lab.ns());
}
void q05(Lab& lab) {
  const Json made = lab.post(kRequests, request_of(lab, {"jane", {"team"}, {}})).json();
  lab.put(kRequests + "/" + lab.ns() + "/approval", approval(made, {"Approved"}));
  std::string encoded;
  EXPECT_TRUE(lab.eventually([&] {
    encoded = str(lab.get(kRequests + "/" + lab.ns()).json(), {"status", "certificate"});
    return !encoded.empty();
  }));
  const auto pem = base64_decode(encoded);
  ASSERT_TRUE(pem.has_value());
  const auto parsed = pki::parse_certificates(*pem);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->front().subject.common_name, "jane");
  EXPECT_EQ(parsed->front().subject.organizations, std::vector<std::string>{"team"});
  lab.remove(kRequests + "/" + lab.ns());
}
void q06(Lab& lab) {
  Json made = lab.post(kRequests, request_of(lab, {"jane", {}, {}})).json();
  made["status"]["certificate"] = base64_encode("x");
  const auto answer = lab.put(kRequests + "/" + lab.ns(), made);
  expect(answer, 200);
  EXPECT_TRUE(str(answer.json(), {"status", "certificate"}).empty());
  lab.remove(kRequests + "/" + lab.ns());
}
void q07(Lab& lab) { expect(lab.post(kRequests, request_of(lab, {"jane", {"system:masters"}, {}})), 403, "Forbidden"); }

}  // namespace

std::vector<Check> access_checks() {
  return {{"A01", "own access review", a01},
          {"A02", "access review of another", a02},
          {"A03", "both attributes", a03},
          {"A04", "forbidden", a04},
          {"A05", "role grants", a05},
          {"A06", "resource names", a06},
          {"A07", "escalation", a07},
          {"A08", "roleRef is immutable", a08},
          {"A09", "impersonation", a09},
          {"A10", "no credentials", a10},
          {"A11", "bad token", a11},
          {"T01", "token request", t01},
          {"T02", "token too short", t02},
          {"T03", "token review", t03},
          {"T04", "revoked token", t04},
          {"T05", "token in a Secret", t05},
          {"T06", "token Secret of nobody", t06},
          {"Q01", "certificate request", q01},
          {"Q02", "bad request", q02},
          {"Q03", "approve", q03},
          {"Q04", "approve and deny", q04},
          {"Q05", "signer", q05},
          {"Q06", "certificate through the main endpoint", q06},
          {"Q07", "masters", q07}};
}

}  // namespace fleetadm::conformance
