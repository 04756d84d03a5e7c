// Which nodes already have an image, as far as their kubelets tell.
#pragma once

#include <string>
#include <vector>

#include "kubeclient/rest/client.h"

namespace fleetadm::install {

struct ImagePresence {
  std::size_t with = 0;              // nodes that have it
  std::vector<std::string> without;  // those that do not, by name
};

/// `nodes`: a NodeList. `name`: with its registry and its tag or digest ("docker.io/library/fleetadm:v1"). A node that takes no
/// pods, has no container runtime, or has more images than it lists says nothing.
ImagePresence image_presence(const Json& nodes, const std::string& name);

/// Of the first nodes of a cluster: a sample, where there are many. One bounded request.
Result<ImagePresence> image_presence(const kube::Client& cluster, const std::string& name);

}  // namespace fleetadm::install
