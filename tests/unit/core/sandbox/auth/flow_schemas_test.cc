// The class of each request, told in its answer's headers.
#include "core/sandbox/auth/flow_schemas.h"

#include <gtest/gtest.h>

#include "core/sandbox/api/api_server.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::sandbox {
namespace {

class Flows : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = ApiServer::open({.ca_pem = "ca", .token_key = *pki::generate_key()});
    ASSERT_TRUE(opened) << opened.error().message;
    server_ = std::move(*opened);
  }

  serve::HttpResponse ask(const std::string& user, std::vector<std::string> groups, const std::string& method,
                          const std::string& path, const std::string& body = {}) {
    auto peer = std::make_shared<serve::Peer>();
    if (!user.empty()) {
      peer->certificate = serve::Peer::Certificate::kValid;
      peer->common_name = user;
      peer->organizations = std::move(groups);
    }
    serve::HttpRequest request;
    request.method = method;
    request.path = path;
    request.body = body;
    request.headers = {{"content-type", "application/json"}};
    request.peer = peer;
    return server_->handle(request);
  }

  static std::string header(const serve::HttpResponse& answer, const std::string& name) {
    for (const auto& [key, value] : answer.headers) {
      if (key == name) return value;
    }
    return {};
  }
  /// "schema/level", by name; "" where the answer tells none.
  std::string class_of(const serve::HttpResponse& answer) {
    return name_of_uid("flowschemas", header(answer, "x-kubernetes-pf-flowschema-uid")) + "/" +
           name_of_uid("prioritylevelconfigurations", header(answer, "x-kubernetes-pf-prioritylevel-uid"));
  }
  std::string name_of_uid(const std::string& plural, const std::string& uid) {
    const auto kind = server_->engine().kinds().find_plural("flowcontrol.apiserver.k8s.io", plural);
    for (const Json& object : server_->engine().list(*kind)) {
      if (uid_of(object) == uid) return name_of(object);
    }
    return {};
  }

  std::unique_ptr<ApiServer> server_;
};

TEST_F(Flows, RequestsHaveTheClassesOfANewCluster) {
  EXPECT_EQ(class_of(ask("admin", {"system:masters"}, "GET", "/api/v1/namespaces")), "exempt/exempt");
  EXPECT_EQ(class_of(ask("jane", {}, "GET", "/readyz")), "probes/exempt");
  EXPECT_EQ(class_of(ask("jane", {}, "GET", "/api/v1/namespaces")), "global-default/global-default") << "refused, yet classified";
  EXPECT_EQ(class_of(ask("system:node:n1", {"system:nodes"}, "GET", "/api/v1/nodes")), "system-node-high/node-high");
  EXPECT_EQ(class_of(ask("system:node:n1", {"system:nodes"}, "GET", "/api/v1/pods")), "system-nodes/system");
  EXPECT_EQ(class_of(ask("system:kube-scheduler", {}, "GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x")),
            "system-leader-election/leader-election");
  EXPECT_EQ(class_of(ask("system:kube-scheduler", {}, "GET", "/api/v1/pods")), "kube-scheduler/workload-high");
  EXPECT_EQ(class_of(ask("system:serviceaccount:kube-system:gc", {"system:serviceaccounts"}, "GET", "/api/v1/pods")),
            "kube-system-service-accounts/workload-high");
  EXPECT_EQ(class_of(ask("system:serviceaccount:apps:x", {"system:serviceaccounts"}, "GET", "/api/v1/pods")),
            "service-accounts/workload-low");
  EXPECT_EQ(class_of(ask("admin", {"system:masters"}, "GET", "/api/v1/namespaces/default/pods/x/log")), "/")
      << "requests that last have no class";
}

TEST_F(Flows, AnOwnSchemaGoesByItsPrecedence) {
  const std::string base = "/apis/flowcontrol.apiserver.k8s.io/v1/";
  const Json rule = {
      {"subjects", Json::array({{{"kind", "User"}, {"user", {{"name", "jane"}}}}})},
      {"resourceRules",
       Json::array({{{"verbs", {"list"}}, {"apiGroups", {""}}, {"resources", {"pods"}}, {"namespaces", {"apps"}}}})},
      {"nonResourceRules", Json::array({{{"verbs", {"get"}}, {"nonResourceURLs", {"/apis/*"}}}})}};
  const Json schema = {
      {"apiVersion", "flowcontrol.apiserver.k8s.io/v1"},
      {"kind", "FlowSchema"},
      {"metadata", {{"name", "mine"}}},
      {"spec",
       {{"matchingPrecedence", 1000}, {"priorityLevelConfiguration", {{"name", "slow"}}}, {"rules", Json::array({rule})}}}};
  ASSERT_EQ(ask("admin", {"system:masters"}, "POST", base + "flowschemas", dump_json(schema)).status, 201);
  const auto in_apps = [&] { return class_of(ask("jane", {}, "GET", "/api/v1/namespaces/apps/pods")); };
  EXPECT_EQ(in_apps(), "global-default/global-default") << "its level does not exist";
  const Json level = {
      {"apiVersion", "flowcontrol.apiserver.k8s.io/v1"},
      {"kind", "PriorityLevelConfiguration"},
      {"metadata", {{"name", "slow"}}},
      {"spec", {{"type", "Limited"}, {"limited", {{"nominalConcurrencyShares", 1}, {"limitResponse", {{"type", "Reject"}}}}}}}};
  ASSERT_EQ(ask("admin", {"system:masters"}, "POST", base + "prioritylevelconfigurations", dump_json(level)).status, 201);
  EXPECT_EQ(in_apps(), "mine/slow");
  EXPECT_EQ(class_of(ask("jane", {}, "GET", "/api/v1/namespaces/other/pods")), "global-default/global-default");
  EXPECT_EQ(class_of(ask("jane", {}, "GET", "/api/v1/pods")), "global-default/global-default") << "no clusterScope";
  EXPECT_EQ(class_of(ask("john", {}, "GET", "/api/v1/namespaces/apps/pods")), "global-default/global-default");
  EXPECT_EQ(class_of(ask("jane", {}, "GET", "/apis/apps")), "mine/slow");
  EXPECT_EQ(class_of(ask("jane", {}, "GET", "/version")), "global-default/global-default");
  ASSERT_EQ(ask("admin", {"system:masters"}, "DELETE", base + "flowschemas/mine").status, 200);
  EXPECT_EQ(in_apps(), "global-default/global-default");
}

}  // namespace
}  // namespace fleetadm::sandbox
