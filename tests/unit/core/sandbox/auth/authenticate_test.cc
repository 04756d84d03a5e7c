// A service account's token is good as long as what it is bound to is there.
#include "core/sandbox/auth/authenticate.h"

#include <gtest/gtest.h>

#include "core/sandbox/api/api_server.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::sandbox {
namespace {

const std::string kAccounts = "/api/v1/namespaces/default/serviceaccounts";
const std::string kPods = "/api/v1/namespaces/default/pods";

class AccountTokens : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = ApiServer::open({.ca_pem = "ca", .token_key = *pki::generate_key()});
    ASSERT_TRUE(opened) << opened.error().message;
    server_ = std::move(*opened);
  }

  Json admin(const std::string& method, const std::string& path, const Json& body = {}) {
    auto peer = std::make_shared<serve::Peer>();
    peer->certificate = serve::Peer::Certificate::kValid;
    peer->common_name = "admin";
    peer->organizations = {"system:masters"};
    serve::HttpRequest request;
    request.method = method;
    request.path = path;
    if (!body.is_null()) request.body = dump_json(body);
    request.headers = {{"content-type", method == "PATCH" ? "application/merge-patch+json" : "application/json"}};
    request.peer = peer;
    const auto answer = server_->handle(request);
    EXPECT_LT(answer.status, 300) << method << " " << path << ": " << answer.body;
    return parse_json(answer.body).value_or(Json());
  }
  void make_account() { admin("POST", kAccounts, {{"metadata", {{"name", "robot"}}}}); }
  Json make_pod() {
    return admin(
        "POST", kPods,
        {{"metadata", {{"name", "web"}}},
         {"spec", {{"serviceAccountName", "robot"}, {"containers", Json::array({{{"name", "web"}, {"image", "web"}}})}}}});
  }
  std::string token(const Json& pod = {}) {
    Json spec = Json::object();
    if (!pod.is_null())
      spec["boundObjectRef"] = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", name_of(pod)}, {"uid", uid_of(pod)}};
    return str(admin("POST", kAccounts + "/robot/token", {{"spec", spec}}), {"status", "token"});
  }
  bool good(const std::string& token) {
    serve::HttpRequest request;
    request.method = "GET";
    request.path = "/version";
    request.headers = {{"authorization", "Bearer " + token}};
    return server_->handle(request).status == 200;
  }

  std::unique_ptr<ApiServer> server_;
};

TEST_F(AccountTokens, EndWithTheirAccountAlsoWhereOneOfTheSameNameFollows) {
  make_account();
  const auto first = token();
  EXPECT_TRUE(good(first));
  admin("PATCH", kAccounts + "/robot", {{"metadata", {{"labels", {{"a", "b"}}}}}});
  EXPECT_TRUE(good(first));  // written, but the same one
  admin("DELETE", kAccounts + "/robot");
  EXPECT_FALSE(good(first));
  make_account();
  EXPECT_FALSE(good(first));
  EXPECT_TRUE(good(token()));
}

TEST_F(AccountTokens, EndWithThePodThatTheyAreBoundTo) {
  make_account();
  const Json pod = make_pod();
  const auto bound = token(pod);
  EXPECT_TRUE(good(bound));
  EXPECT_TRUE(good(bound));
  admin("DELETE", kPods + "/web", {{"gracePeriodSeconds", 0}});
  EXPECT_FALSE(good(bound));
  make_pod();
  EXPECT_FALSE(good(bound));
}

}  // namespace
}  // namespace fleetadm::sandbox
