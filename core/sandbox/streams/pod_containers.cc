#include "core/sandbox/streams/pod_containers.h"

namespace fleetadm::sandbox {

std::string container_names(const Json& pod, const char* member) {
  std::string names;
  for (const Json& container : list_at(pod, {"spec", member})) names += (names.empty() ? "" : " ") + str(container, {"name"});
  return names;
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
