// What kube-apiserver asks of a node's kubelet (logs, exec, attach, port-forward), answered for the pods of a process node of
// this process: with it kubectl's streams work on a real server as they do on a sandbox, which needs no kubelet.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/sandbox/api/api_server.h"
#include "core/serve/http/server.h"
#include "tests/support/kube_servers.h"

namespace fleetadm::kubectl {

class Kubelet {
 public:
  /// On a port of the loopback. `server` is asked for pods, and has to outlive this.
  static Result<std::unique_ptr<Kubelet>> start(const testkit::KubeServer& server,
                                                std::shared_ptr<const sandbox::ContainerTable> containers, int port);
  /// What a kube-apiserver needs in order to ask it.
  static std::vector<std::string> apiserver_flags(int port);

  ~Kubelet();
  Kubelet(const Kubelet&) = delete;
  Kubelet& operator=(const Kubelet&) = delete;

 private:
  Kubelet(const testkit::KubeServer& server, std::shared_ptr<const sandbox::ContainerTable> containers)
      : server_(server), containers_(std::move(containers)) {}
  serve::HttpResponse answer(const serve::HttpRequest& request);
  /// An API server that knows of nothing but one pod.
  Result<sandbox::ApiServer*> server_of(const Json& pod);

  const testkit::KubeServer& server_;
  std::shared_ptr<const sandbox::ContainerTable> containers_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<sandbox::ApiServer>> servers_;
  serve::HttpRuntime runtime_{4};
  std::unique_ptr<serve::HttpListener> listener_;
};

}  // namespace fleetadm::kubectl
