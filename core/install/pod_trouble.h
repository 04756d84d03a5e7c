// Why the pods of a Deployment are not available, in the words of the cluster: the scheduler's, the kubelet's, admission's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/rest/client.h"

namespace fleetadm::install {

struct PodTrouble {
  std::string where;    // "pod ns/name", "container hub of pod ns/name", "Deployment ns/name"
  std::string reason;   // "ImagePullBackOff", "Unschedulable", "CrashLoopBackOff", "OOMKilled", "Evicted", …
  std::string message;  // one line; may be empty

  /// "container hub of pod ns/name: ImagePullBackOff: Back-off pulling image …"
  std::string text() const;
  bool operator==(const PodTrouble&) const = default;
};

/// What is wrong now, most telling first; nothing while pods merely start. `pods`: a PodList of the Deployment's selector. One of
/// several pods with the same trouble stands for all.
std::vector<PodTrouble> pod_troubles(const Json& deployment, const Json& pods);

/// The PodList of a Deployment's selector: the first 50.
Result<Json> read_pods(const kube::Client& client, const Json& deployment);

/// Of a Deployment on the server: it and its pods are read. Nothing where they cannot be read.
std::vector<PodTrouble> read_pod_troubles(const kube::Client& client, std::string_view ns, std::string_view deployment);

}  // namespace fleetadm::install
