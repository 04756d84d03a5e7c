// A test's API server that is a sandbox cluster in this process, with an audit log as the real one's. Private to
// kube_servers*.cc.
#pragma once

#include <fstream>
#include <mutex>

#include "core/sandbox/fleet/cluster.h"
#include "tests/support/kube_servers.h"

namespace fleetadm::testkit {

struct KubeServer::Embedded {
  serve::HttpRuntime runtime{4};
  sandbox::ClusterOptions options;
  std::unique_ptr<sandbox::Cluster> cluster;
  std::mutex mutex;  // the log
  std::ofstream log;

  void note(const serve::ApiRequest& request, const serve::HttpResponse& response);
  ~Embedded() {
    cluster.reset();
    runtime.stop();
  }
};

}  // namespace fleetadm::testkit
