// What is installed on a cluster: the objects that carry the part's label.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/rest/client.h"

namespace fleetadm::upgrade {

struct Installed {
  std::vector<Json> objects;

  /// Null: it is not there.
  const Json* find(std::string_view kind, std::string_view ns, std::string_view name) const;
  bool has(const Json& object) const;  // one of its kind, namespace and name
};

/// A kind that the server does not know has no objects; one that may not be listed is an error.
Result<Installed> read_installed(const kube::Client& cluster, std::string_view part);

/// Only what is in one namespace, and the namespace itself.
void keep_namespace(Installed& installed, std::string_view ns);

/// The image of the first container of a Deployment.
std::string image_of(const Json& deployment);
/// Its arguments.
std::vector<std::string> args_of(const Json& deployment);

}  // namespace fleetadm::upgrade
