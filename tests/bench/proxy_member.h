// The member's side of the benchmark, in a process and perhaps in a network of its own: an API server with objects to read, and a
// kubelet whose pods run commands.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kubeclient/pki/pki.h"
#include "tests/bench/proxy_process.h"
#include "tests/bench/test_kubelet.h"
#include "tests/support/kube_servers.h"

namespace fleetadm::bench {

constexpr const char* kMapsPath = "/api/v1/namespaces/default/configmaps";

inline Json map_of(const std::string& name, std::size_t size) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}, {"labels", {{"part", size > 10'000 ? "list" : "one"}}}}},
          {"data", {{"text", std::string(size, 'x')}}}};
}

/// Makes an object as administrator of an API server. The status, and the body of the answer.
using MakeObject = std::function<std::pair<int, std::string>(const std::string& path, const Json& object)>;

inline MakeObject maker_at(const testkit::KubeServer& server) {
  return [&server](const std::string& path, const Json& object) {
    const auto answer = server.create(path, object);
    return std::pair(answer.status, answer.body);
  };
}

/// These users may do everything.
inline void make_admins(const MakeObject& make, const std::vector<std::string>& users) {
  const std::string group = "rbac.authorization.k8s.io";
  const std::string path = "/apis/" + group + "/v1/";
  const Json everything = {{"apiGroups", {"*"}}, {"resources", {"*"}}, {"verbs", {"*"}}};
  make(path + "clusterroles", {{"metadata", {{"name", "bench"}}}, {"rules", Json::array({everything})}});
  Json subjects = Json::array();
  for (const auto& user : users) subjects.push_back({{"kind", "User"}, {"apiGroup", group}, {"name", user}});
  make(path + "clusterrolebindings", {{"metadata", {{"name", "bench"}}},
                                      {"roleRef", {{"apiGroup", group}, {"kind", "ClusterRole"}, {"name", "bench"}}},
                                      {"subjects", std::move(subjects)}});
}

/// Of an account of the namespace "default", which is made.
inline std::string token_of(const MakeObject& make, const std::string& account) {
  const std::string accounts = "/api/v1/namespaces/default/serviceaccounts";
  make(accounts, {{"metadata", {{"name", account}}}});
  const auto [status, body] = make(accounts + "/" + account + "/token", {{"spec", Json::object()}});
  const auto answer = parse_json(body);
  return status == 201 && answer ? str(*answer, {"status", "token"}) : std::string();
}

inline Result<pki::KeyPair> user_of(const pki::KeyPair& ca, const std::string& name, std::vector<std::string> groups = {}) {
  pki::LeafOptions leaf;
  leaf.subject = {name, std::move(groups), {}};
  leaf.client = true;
  return pki::issue(ca, leaf);
}

/// How upstream's cluster-proxy calls the hub's account "bench" at its members, and how the members call its own account.
constexpr const char* kUpstreamsUser = "cluster:hub:system:serviceaccount:default:bench";
constexpr const char* kUpstreamsAccount = "system:serviceaccount:default:upstream";

/// A server of the member: a user by certificate, an administrator, and the token of an account for upstream's programs.
inline Json place_of(const std::string& url, const std::string& ca, const pki::KeyPair& jane, const pki::KeyPair& admin,
                     const MakeObject& make) {
  make_admins(make, {"jane", kUpstreamsUser, kUpstreamsAccount});
  return {{"url", url},
          {"ca", ca},
          {"jane", jane.certificate},
          {"janeKey", jane.key},
          {"certificate", admin.certificate},
          {"key", admin.key},
          {"token", token_of(make, "upstream")}};
}

/// A plan: {"address", "port"}: where the server listens; no port: a free one. The answer: the server, or {"error"}.
inline int run_member_part(const Json& plan, const Orders& orders) {
  const auto refuse = [&](const std::string& why) {
    orders.answer({{"error", why}});
    return 1;
  };
  testkit::KubeServerOptions options;
  options.name = "member";
  options.address = str(plan, {"address"});
  options.port = static_cast<int>(num(plan, {"port"}));
  options.apiserver_flags = {"--kubelet-preferred-address-types=InternalIP"};
  const auto server = testkit::KubeServer::start(options);
  if (!server) return refuse(server.error().message);
  constexpr int kMaps = 10;
  (*server)->create(kMapsPath, map_of("small", 300));
  for (int i = 0; i < kMaps; ++i) (*server)->create(kMapsPath, map_of("part-" + std::to_string(i), 1024 * 1024 / kMaps));
  const auto jane = user_of((*server)->ca(), "jane");
  if (!jane) return refuse(jane.error().message);
  const auto kubelet = TestKubelet::start(**server);
  if (!kubelet) return refuse(kubelet.error().message);
  orders.answer(place_of((*server)->url(), (*server)->ca().certificate, *jane, (*server)->admin(), maker_at(**server)));
  orders.serve([](const Json&) { return Json::object(); });
  return 0;
}

}  // namespace fleetadm::bench
