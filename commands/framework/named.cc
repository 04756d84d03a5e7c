#include "commands/framework/named.h"

#include <vector>

#include "commands/framework/suggest.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {

Status cluster_exists(const kube::Client& hub, const std::string& name) {
  const auto found = hub.find(api::managed_clusters(), "", name);
  if (!found) return found.error().category == Category::kAuth ? Status{} : tl::unexpected(found.error());
  if (*found) return {};
  std::vector<std::string> known;
  const Status listed = hub.list_each(api::managed_clusters(), "", {}, [&](const Json& cluster) -> Status {
    known.push_back(name_of(cluster));
    return {};
  });
  const std::string otherwise = "list the clusters with: fleetadm get clusters";
  return fail(Category::kNotFound, "cluster \"" + name + "\" not found on the hub",
              listed ? did_you_mean(name, known, otherwise) : otherwise);
}

}  // namespace fleetadm::commands
