// Which declarations of add-ons an event concerns. There are few of them: they are looked through.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/addon/rules/object_reader.h"

namespace fleetadm::addon {

/// Names of the declarations for which `concerned` answers true.
std::vector<std::string> declarations_where(const ObjectReader& objects, const std::function<bool(const Json&)>& concerned);
/// Whether a declaration is installed by this placement ("namespace/name").
bool names_placement(const Json& declaration, std::string_view placement);
/// The configuration types that a declaration names: what its add-ons support.
std::vector<GroupResource> config_types_of(const Json& declaration);

}  // namespace fleetadm::addon
