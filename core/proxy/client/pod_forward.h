// A port of this machine that leads to the pods of a Service, through the API server of their cluster: the way to what has no
// address outside of it.
#pragma once

#include <memory>
#include <string>

#include "kubeclient/config/rest_config.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::proxy {

struct PodPort {
  std::string ns;
  std::string selector;  // of the pods' labels
  int port = 0;          // of the pod
  std::string pod;       // this one; empty: whichever of the selector's runs
};

class PodForward {
 public:
  /// Listens on a free port of 127.0.0.1. kNotFound: no pod runs. When the port-forward breaks, the next pod is taken.
  static Result<std::unique_ptr<PodForward>> start(const kube::Client& hub, const kube::RestConfig& config, PodPort target);
  ~PodForward();
  PodForward(const PodForward&) = delete;
  PodForward& operator=(const PodForward&) = delete;

  int port() const;

 private:
  struct Inner;
  explicit PodForward(std::unique_ptr<Inner> inner);
  std::unique_ptr<Inner> inner_;
};

}  // namespace fleetadm::proxy
