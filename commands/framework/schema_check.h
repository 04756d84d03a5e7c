// What the API server would say of a Placement, for those that come from files and meet none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::apimachinery {
class Structural;
}

namespace fleetadm::commands {

/// The schema of the kind, compiled once. Not for several threads at once.
class PlacementSchema {
 public:
  /// kInvalid: a value is of the wrong type or out of its bounds; the API server would refuse the object. Members that the kind
  /// does not have, which it would drop, are told in `notes`. `where` is the file.
  Status check(const Json& placement, const std::string& where, std::vector<std::string>& notes);

 private:
  Status compile();
  std::shared_ptr<const apimachinery::Structural> schema_;
};

}  // namespace fleetadm::commands
