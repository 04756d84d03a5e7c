// A sandbox API server in this process with pods whose "fleetadm" is the shell: for tests of exec, attach and port-forward.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/sandbox/api/api_server.h"
#include "core/sandbox/node/pod.h"
#include "core/serve/http/server.h"
#include "kubeclient/config/rest_config.h"
#include "tests/support/raw_client.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::testkit {

class StreamLab {
 public:
  explicit StreamLab(const serve::HttpLimits& limits = {});
  ~StreamLab();
  StreamLab(const StreamLab&) = delete;
  StreamLab& operator=(const StreamLab&) = delete;

  /// A pod of one container "main" that runs a script of the shell; `more` goes into the container, and into the pod's spec.
  /// `image` other than fleetadm's has no process.
  void add_pod(const std::string& name, const std::string& script, const Json& more = Json::object(),
               const Json& spec = Json::object(), const std::string& image = "x/fleetadm:v1");
  /// Called with the real port of each container port of the pods that are added from now on.
  void on_port(std::function<void(int port)> told) { on_port_ = std::move(told); }
  /// Its process is ended.
  void stop_pod(const std::string& name);
  /// Moves the pod's containers on, as the node does when a process has ended.
  void sync_pod(const std::string& name);
  /// Lets a user do `verbs` with `resources` of the core group, everywhere.
  void allow(const std::string& user, const std::vector<std::string>& verbs, const std::vector<std::string>& resources);

  std::unique_ptr<RawClient> client(const std::string& user = "admin");
  /// For clients of kubeclient.
  kube::RestConfig config(const std::string& user = "admin") const;
  /// Of a request that came by another way.
  serve::HttpResponse handle(const serve::HttpRequest& request) { return api_->handle(request); }
  /// Status and body of a plain request of the administrator.
  std::pair<int, std::string> ask(const std::string& method, const std::string& path, const std::string& body = {});
  int port() const { return listener_->port(); }
  std::string url() const { return "https://" + listener_->endpoint(); }
  const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  pki::KeyPair user(const std::string& name) const;

  TemporaryFolder folder_{"streams"};
  std::shared_ptr<sandbox::ContainerTable> containers_ = std::make_shared<sandbox::ContainerTable>();
  sandbox::PodHost host_;
  pki::KeyPair ca_;
  serve::HttpRuntime runtime_{2};
  std::unique_ptr<sandbox::ApiServer> api_;
  std::unique_ptr<serve::HttpListener> listener_;
  std::map<std::string, Json> objects_;
  std::map<std::string, std::unique_ptr<sandbox::Pod>> pods_;
  std::function<void(int)> on_port_;
  int roles_ = 0;
};

}  // namespace fleetadm::testkit
