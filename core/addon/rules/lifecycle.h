// Who installs and configures an add-on: the annotation of its ClusterManagementAddOn (docs/reference/addon.md#names).
#pragma once

#include <string_view>

#include "core/addon/rules/pass.h"

namespace fleetadm::addon {

/// Whether the hub deploys an add-on of this declaration: an AddOnTemplate is among the configurations that it may have.
bool may_have_template(const Json& declaration);

/// What an add-on with an AddOnTemplate says of itself: a manager of templates writes "" over "self", which means the same (it is
/// not managed here), so that objects look alike under either hub.
Pass lifecycle_pass(const ObjectReader& objects, std::string_view addon);

}  // namespace fleetadm::addon
