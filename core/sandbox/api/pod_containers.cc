#include "core/sandbox/api/pod_containers.h"

namespace fleetadm::sandbox {

ApiResult<std::string> chosen_container(const Json& pod, const std::string& asked) {
  if (!asked.empty()) {
    if (container_named(pod, asked) == nullptr)
      return bad_request("container " + asked + " is not valid for pod " + name_of(pod));
    return asked;
  }
  const Json& containers = list_at(pod, {"spec", "containers"});
  if (containers.size() == 1) return str(containers[0], {"name"});
  std::string names;
  for (const char* member : {"initContainers", "containers", "ephemeralContainers"}) {
    for (const Json& container : list_at(pod, {"spec", member})) names += (names.empty() ? "" : " ") + str(container, {"name"});
  }
  return bad_request("a container name must be specified for pod " + name_of(pod) + ", choose one of: [" + names + "]");
}

const Json* container_named(const Json& pod, const std::string& name) {
  for (const char* member : {"containers", "initContainers", "ephemeralContainers"}) {
    for (const Json& container : list_at(pod, {"spec", member})) {
      if (str(container, {"name"}) == name) return &container;
    }
  }
  return nullptr;
}

}  // namespace fleetadm::sandbox
