#include "commands/framework/image.h"

#include <array>
#include <string_view>
#include <utility>

namespace fleetadm::commands {

std::string installed_image(const kube::Client& cluster) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kDeployments = {
      {{"open-cluster-management-hub", "fleetadm-hub"}, {"open-cluster-management-agent", "fleetadm-agent"}}};
  for (const auto& [ns, name] : kDeployments) {
    const auto deployment = cluster.find(kube::resources::deployments(), ns, name);
    if (!deployment || !*deployment) continue;
    const Json& containers = list_at(**deployment, {"spec", "template", "spec", "containers"});
    if (!containers.empty()) return str(containers.front(), {"image"});
  }
  return "fleetadm:" FLEETADM_VERSION;
}

}  // namespace fleetadm::commands
