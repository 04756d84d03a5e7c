// Y: exec, attach and port-forward as far as an API server decides alone: which pod and container, who may, what is refused.
#include <gtest/gtest.h>

#include "tests/conformance/lab.h"

namespace fleetadm::conformance {
namespace {

/// A pod that no node takes.
void make_pod(Lab& lab, const std::string& name, const std::vector<std::string>& containers = {"main"},
              const std::vector<std::string>& before = {}) {
  const auto list_of = [](const std::vector<std::string>& names) {
    Json list = Json::array();
    for (const auto& one : names) list.push_back({{"name", one}, {"image", "example.com/none:v1"}});
    return list;
  };
  const Json pod = {
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", {{"name", name}}},
      {"spec",
       {{"nodeSelector", {{"nowhere", "true"}}}, {"containers", list_of(containers)}, {"initContainers", list_of(before)}}}};
  lab.create_pod(pod);
}
std::string connect_path(Lab& lab, const std::string& pod, const std::string& rest) {
  return lab.core("pods") + "/" + pod + "/" + rest;
}
void refused(const Answer& answer, const std::string& message) {
  expect(answer, 400, "BadRequest");
  EXPECT_EQ(answer.message(), message);
}
Answer connect_as(Lab& lab, const std::string& token, const std::string& method) {
  return lab.send({.method = method, .path = connect_path(lab, "p", "exec?stdout=true&command=ls"), .token = token});
}
/// The token of an account that may do these verbs with pods/exec, once that holds.
std::string may_exec(Lab& lab, const std::string& account, const std::vector<std::string>& verbs) {
  const auto token = lab.account_token(account);
  const std::string api = "/apis/rbac.authorization.k8s.io/v1/namespaces/" + lab.ns();
  const Json rule = {{"verbs", verbs}, {"apiGroups", {""}}, {"resources", {"pods/exec", "configmaps"}}};
  expect(lab.post(api + "/roles", {{"metadata", {{"name", account}}}, {"rules", Json::array({rule})}}), 201);
  const Json subject = {{"kind", "ServiceAccount"}, {"name", account}, {"namespace", lab.ns()}};
  expect(lab.post(api + "/rolebindings",
                  {{"metadata", {{"name", account}}},
                   {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", account}}},
                   {"subjects", Json::array({subject})}}),
         201);
  const auto probe = lab.maps() + "/kube-root-ca.crt";
  EXPECT_TRUE(lab.eventually([&] { return lab.send({.path = probe, .token = token}).status != 403; }));
  return token;
}

void y01(Lab& lab) {
  for (const char* what : {"exec?stdout=true&command=ls", "attach?stdout=true", "portforward"}) {
    expect(lab.get(connect_path(lab, "nobody", what)), 404, "NotFound");
    expect(lab.post(connect_path(lab, "nobody", what), nullptr), 404, "NotFound");
  }
}
void y02(Lab& lab) {
  make_pod(lab, "p");
  for (const char* what : {"exec?stdout=true&command=ls", "attach?stdout=true", "portforward"})
    refused(lab.get(connect_path(lab, "p", what)), "pod p does not have a host assigned");
}
void y03(Lab& lab) {
  make_pod(lab, "p");
  make_pod(lab, "two", {"a", "b"}, {"first"});
  for (const char* what : {"exec?stdout=true&command=ls&container=other", "log?container=other"})
    refused(lab.get(connect_path(lab, "p", what)), "container other is not valid for pod p");
  for (const char* what : {"attach?stdout=true", "log"})
    refused(lab.get(connect_path(lab, "two", what)),
            "a container name must be specified for pod two, choose one of: [first a b]");
  refused(lab.get(connect_path(lab, "two", "exec?stdout=true&command=ls&container=b")), "pod two does not have a host assigned");
}
void y04(Lab& lab) {
  make_pod(lab, "p");
  refused(lab.get(connect_path(lab, "p", "exec?stdout=true&command=ls&dryRun=All")), "dryRun is not supported");
  expect(lab.send({.method = "DELETE", .path = connect_path(lab, "p", "exec")}), 405, "MethodNotAllowed");
}
void y05(Lab& lab) {  // a WebSocket's GET needs the right to create, too
  make_pod(lab, "p");
  const auto reader = may_exec(lab, "reader", {"get"});
  expect(connect_as(lab, reader, "GET"), 403, "Forbidden");
  expect(connect_as(lab, reader, "POST"), 403, "Forbidden");
  const auto doer = may_exec(lab, "doer", {"get", "create"});
  expect(connect_as(lab, doer, "GET"), 400, "BadRequest");
  expect(connect_as(lab, doer, "POST"), 400, "BadRequest");
}

}  // namespace

std::vector<Check> connect_checks() {
  return {{"Y01", "no pod", y01},
          {"Y02", "a pod without a node", y02},
          {"Y03", "which container", y03},
          {"Y04", "dry run and method", y04},
          {"Y05", "rights", y05}};
}

}  // namespace fleetadm::conformance
