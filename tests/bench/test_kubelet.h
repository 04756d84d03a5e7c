// The kubelet of the benchmark's member, as far as an API server asks it for commands in pods: they are processes of this
// machine.
#pragma once

#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/serve/http/server.h"
#include "tests/support/kube_servers.h"
#include "tests/support/stream_lab.h"

namespace fleetadm::bench {

class TestKubelet {
 public:
  /// Listens on loopback, and makes a Node and a pod "p" of it.
  static Result<std::unique_ptr<TestKubelet>> start(const testkit::KubeServer& server) {
    std::unique_ptr<TestKubelet> kubelet(new TestKubelet);
    kubelet->pods_.add_pod(kPod, "exec sleep 100000");
    FLEETADM_TRY(const auto ca, pki::make_ca("kubelet", std::chrono::hours(1)));
    pki::LeafOptions leaf;
    leaf.server = true;
    leaf.ip_addresses = {"127.0.0.1"};
    serve::ListenOptions options;
    FLEETADM_TRY(options.certificate, pki::issue(ca, leaf));
    FLEETADM_TRY(kubelet->listener_,
                 serve::HttpListener::start(kubelet->runtime_, options, [&pods = kubelet->pods_](const auto& asked) {
                   return pods.handle(as_of_a_pod(asked));
                 }));
    FLEETADM_CHECK(kubelet->registered(server));
    return kubelet;
  }
  ~TestKubelet() {
    listener_.reset();
    runtime_.stop();
  }
  TestKubelet(const TestKubelet&) = delete;
  TestKubelet& operator=(const TestKubelet&) = delete;

 private:
  static constexpr const char* kPod = "p";

  TestKubelet() = default;

  /// "/exec/NAMESPACE/POD/CONTAINER?command=true&output=1" as the request of an administrator for the pod's subresource.
  static serve::HttpRequest as_of_a_pod(serve::HttpRequest request) {
    std::vector<std::string> parts;
    std::istringstream path(request.path);
    for (std::string part; std::getline(path, part, '/');) parts.push_back(part);
    if (parts.size() != 5) return request;
    request.path = "/api/v1/namespaces/" + parts[2] + "/pods/" + parts[3] + "/" + parts[1];
    std::string query = "container=" + parts[4];
    std::istringstream fields(request.query);
    for (std::string field; std::getline(fields, field, '&');) {
      for (const auto& [theirs, ours] :
           {std::pair{"input=1", "stdin=true"}, {"output=1", "stdout=true"}, {"error=1", "stderr=true"}})
        if (field == theirs) field = ours;
      query += "&" + field;
    }
    request.query = query;
    serve::Peer admin;
    admin.certificate = serve::Peer::Certificate::kValid;
    admin.common_name = "admin";
    admin.organizations = {"system:masters"};
    admin.loopback = true;
    admin.address = "127.0.0.1";
    request.peer = std::make_shared<const serve::Peer>(std::move(admin));
    return request;
  }

  Status registered(const testkit::KubeServer& server) const {
    const std::string nodes = "/api/v1/nodes";
    const std::string pods = "/api/v1/namespaces/default/pods";
    const Json status = {{"addresses", Json::array({{{"type", "InternalIP"}, {"address", "127.0.0.1"}}})},
                         {"daemonEndpoints", {{"kubeletEndpoint", {{"Port", listener_->port()}}}}}};
    server.create(nodes, {{"metadata", {{"name", "node"}}}});
    const auto told =
        server.request("PATCH", nodes + "/node/status", dump_json(Json{{"status", status}}), "application/merge-patch+json");
    if (told.status != 200) return fail(Category::kInternal, "the member takes no node: " + told.body);
    const Json container = {{"name", "main"}, {"image", "none"}};
    const Json pod = {{"metadata", {{"name", kPod}}}, {"spec", {{"nodeName", "node"}, {"containers", Json::array({container})}}}};
    // It is refused until its namespace has an account.
    if (testkit::eventually([&] { return server.create(pods, pod).status == 201; })) return {};
    return fail(Category::kTimeout, "the member takes no pod");
  }

  testkit::StreamLab pods_;
  serve::HttpRuntime runtime_{2};
  std::unique_ptr<serve::HttpListener> listener_;
};

}  // namespace fleetadm::bench
