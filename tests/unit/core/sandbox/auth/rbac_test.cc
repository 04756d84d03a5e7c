// Rights follow roles and bindings at once, and the reason names the binding.
#include "core/sandbox/auth/rbac.h"

#include <gtest/gtest.h>

#include "core/sandbox/api/api_server.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::sandbox {
namespace {

constexpr const char* kApi = "/apis/rbac.authorization.k8s.io/v1/";

class Rights : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = ApiServer::open({.ca_pem = "ca", .token_key = *pki::generate_key()});
    ASSERT_TRUE(opened) << opened.error().message;
    server_ = std::move(*opened);
  }

  serve::HttpResponse ask(const std::string& user, std::vector<std::string> groups, const std::string& method,
                          const std::string& path, const Json& body = {}) {
    auto peer = std::make_shared<serve::Peer>();
    peer->certificate = serve::Peer::Certificate::kValid;
    peer->common_name = user;
    peer->organizations = std::move(groups);
    serve::HttpRequest request;
    request.method = method;
    request.path = path;
    if (!body.is_null()) request.body = dump_json(body);
    request.headers = {{"content-type", "application/json"}};
    request.peer = peer;
    return server_->handle(request);
  }
  void admin(const std::string& method, const std::string& path, const Json& body = {}) {
    const auto answer = ask("admin", {"system:masters"}, method, path, body);
    ASSERT_LT(answer.status, 300) << answer.body;
  }
  bool reads(const std::string& user, std::vector<std::string> groups = {}, const std::string& ns = "default") {
    return ask(user, std::move(groups), "GET", "/api/v1/namespaces/" + ns + "/configmaps").status == 200;
  }
  /// Why the user may list the config maps of a namespace; empty: it may not.
  std::string why(const std::string& user, const std::vector<std::string>& groups) {
    const Json review = {{"apiVersion", "authorization.k8s.io/v1"},
                         {"kind", "SubjectAccessReview"},
                         {"spec",
                          {{"user", user},
                           {"groups", groups},
                           {"resourceAttributes", {{"namespace", "default"}, {"verb", "list"}, {"resource", "configmaps"}}}}}};
    const auto answer = ask("admin", {"system:masters"}, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review);
    return str(parse_json(answer.body).value_or(Json()), {"status", "reason"});
  }

  static Json role(const std::string& name) {
    return {{"metadata", {{"name", name}}},
            {"rules", Json::array({{{"apiGroups", {""}}, {"resources", {"configmaps"}}, {"verbs", {"get", "list"}}}})}};
  }
  static Json binding(const std::string& name, const Json& subjects, const std::string& to = "reader") {
    return {{"metadata", {{"name", name}}},
            {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", to}}},
            {"subjects", subjects}};
  }
  static Json user(const std::string& name) {
    return {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "User"}, {"name", name}};
  }
  static Json group(const std::string& name) {
    return {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Group"}, {"name", name}};
  }

  std::unique_ptr<ApiServer> server_;
};

TEST_F(Rights, FollowEveryChangeAtOnce) {
  EXPECT_FALSE(reads("jane"));
  admin("POST", std::string(kApi) + "clusterrolebindings", binding("b", Json::array({user("jane")})));
  EXPECT_FALSE(reads("jane")) << "there is no such role so far";
  admin("POST", std::string(kApi) + "clusterroles", role("reader"));
  EXPECT_TRUE(reads("jane"));
  admin("PUT", std::string(kApi) + "clusterrolebindings/b", binding("b", Json::array({user("john"), group("staff")})));
  EXPECT_FALSE(reads("jane"));
  EXPECT_TRUE(reads("john"));
  EXPECT_TRUE(reads("jane", {"staff"}));
  admin("DELETE", std::string(kApi) + "clusterroles/reader");
  EXPECT_FALSE(reads("john"));
  admin("POST", std::string(kApi) + "clusterroles", role("reader"));
  EXPECT_TRUE(reads("john"));
  admin("DELETE", std::string(kApi) + "clusterrolebindings/b");
  EXPECT_FALSE(reads("john"));
}

TEST_F(Rights, OfANamespaceEndThere) {
  admin("POST", std::string(kApi) + "clusterroles", role("reader"));
  admin("POST", std::string(kApi) + "namespaces/default/rolebindings",
        binding("b", Json::array({{{"kind", "ServiceAccount"}, {"name", "robot"}, {"namespace", "default"}}})));
  EXPECT_TRUE(reads("system:serviceaccount:default:robot"));
  EXPECT_FALSE(reads("system:serviceaccount:default:robot", {}, "kube-system"));
  EXPECT_FALSE(reads("system:serviceaccount:kube-system:robot"));
}

// As kube-apiserver tells it: the first binding by name, and the first of its subjects.
TEST_F(Rights, AreExplainedByTheFirstBinding) {
  admin("POST", std::string(kApi) + "clusterroles", role("reader"));
  admin("POST", std::string(kApi) + "clusterrolebindings", binding("z", Json::array({user("jane")})));
  admin("POST", std::string(kApi) + "clusterrolebindings",
        binding("a", Json::array({group("staff"), user("jane"), user("jane")})));
  EXPECT_EQ(why("jane", {"staff"}), "RBAC: allowed by ClusterRoleBinding \"a\" of ClusterRole \"reader\" to Group \"staff\"");
  EXPECT_EQ(why("jane", {}), "RBAC: allowed by ClusterRoleBinding \"a\" of ClusterRole \"reader\" to User \"jane\"");
  admin("DELETE", std::string(kApi) + "clusterrolebindings/a");
  EXPECT_EQ(why("jane", {"staff"}), "RBAC: allowed by ClusterRoleBinding \"z\" of ClusterRole \"reader\" to User \"jane\"");
}

}  // namespace
}  // namespace fleetadm::sandbox
