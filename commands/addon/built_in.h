// The add-ons that come with fleetadm (templates/addons): installed on a hub, an object by an object, each labelled as a part of
// fleetadm. An object of the same name without the label is someone else's, and is left alone. The CRD of an add-on's own kind
// (templates/crds/addons) is installed before it, and stays when it is uninstalled.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/command.h"

namespace fleetadm::commands {

std::vector<std::string> built_in_addons();
bool is_built_in(const std::string& name);

/// Creates what is missing and brings the template up to date; the install strategy and the configurations of a declaration that
/// exists stay. `image` empty: that of the hub's own Deployment, else the default. A line for each object is added to the report.
/// kConflict: one of them is someone else's. The objects are the answer.
Result<std::vector<Json>> install_built_in(Context& context, const kube::Client& hub, const std::string& name,
                                           const std::string& image, Report& report);

struct BuiltInObject {
  kube::Resource resource;
  std::string name;
  std::string uid;
};
/// What of it is there and labelled, in the order in which it can be removed.
Result<std::vector<BuiltInObject>> installed_objects(const kube::Client& hub, const std::string& name);

}  // namespace fleetadm::commands
