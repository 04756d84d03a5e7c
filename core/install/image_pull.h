// How the kubelets get the images of what is installed.
#pragma once

#include <string>
#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm::install {

struct ImagePull {
  std::string policy;                // "Always", "IfNotPresent", "Never"; empty: as Kubernetes decides by the tag
  std::vector<std::string> secrets;  // of the pods' namespace, type kubernetes.io/dockerconfigjson
};

/// Puts it into the pod template of each Deployment.
void set_image_pull(std::vector<Json>& objects, const ImagePull& pull);

/// The Secret with the login to one registry.
Json image_pull_secret(const std::string& ns, const std::string& name, const std::string& registry, const std::string& username,
                       const std::string& password);

}  // namespace fleetadm::install
