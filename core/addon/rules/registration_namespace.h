// Where the agent of an add-on with a template keeps its credentials.
#pragma once

#include <string>

#include "core/addon/rules/object_reader.h"

namespace fleetadm::addon {

/// status.namespace: the install namespace of the configuration, else the namespace of the template's first Deployment, else of
/// the first DaemonSet before it, else the default.
Result<std::string> registration_namespace(const ObjectReader& objects, const Json& addon);

}  // namespace fleetadm::addon
