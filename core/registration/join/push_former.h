// What a hub has on a push member that joined before works were applied as a user: a second account, a Role and its binding, and
// works' rights by three bindings. `join --push` replaces it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/install/install.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::join {

struct FormerPush {
  bool there = false;
  bool full_rights = false;
};
/// By the hub's namespace there, and its part.
Result<FormerPush> find_former_push(const kube::Client& member, const std::string& ns, const std::string& part);

/// Removes it; each object is told. The last one is what find_former_push() knows it by.
Status remove_former_push(const kube::Client& member, const std::string& ns, const std::string& part,
                          const std::function<void(const install::Change&)>& told);

}  // namespace fleetadm::join
