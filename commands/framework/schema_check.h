// What the API server would say of an object of the fleet's kinds, for those that come from files and meet none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::apimachinery {
class Structural;
}

namespace fleetadm::commands {

/// The schema of a kind that `init` installs on the hub, compiled once. Not for several threads at once.
class KindSchema {
 public:
  explicit KindSchema(kube::Resource resource);

  /// kInvalid: a value is of the wrong type or out of its bounds; the API server would refuse the object. Members that the kind
  /// does not have, which it would drop, are told in `notes`. `where` is the file.
  Status check(const Json& object, const std::string& where, std::vector<std::string>& notes);

 private:
  Status compile();
  kube::Resource resource_;
  std::shared_ptr<const apimachinery::Structural> schema_;
};

}  // namespace fleetadm::commands
