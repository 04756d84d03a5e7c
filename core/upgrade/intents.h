// The objects of this version for what is installed: with the options that it was installed with, as its live objects show them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/upgrade/installed.h"

namespace fleetadm::upgrade {

inline constexpr std::string_view kHubDeployment = "fleetadm-hub";
inline constexpr std::string_view kGatewayDeployment = "fleetadm-gateway";

/// Of `live`, arguments that are not among `own` (those of the version that wrote them, before the user's): what was added by an
/// option. An argument for a flag that `own` sets counts as its older form where it comes first, and as the user's after that.
std::vector<std::string> added_args(const Json& own, const std::vector<std::string>& live);

/// All objects of a hub of this version, in the order in which they are applied. What is optional is part of it where it is
/// installed. `manager`: the field manager that installs.
Result<std::vector<Json>> hub_intent(const kube::Client& hub, const Installed& installed, const std::string& image,
                                     std::string_view manager);
/// Likewise of an agent; its Secrets stay as they are.
Result<std::vector<Json>> agent_intent(const Installed& installed, const std::string& image, std::string_view manager);

/// Likewise of the program for the members that are hosted in a namespace; their Secrets, and what is on the members, stay.
Result<std::vector<Json>> hosting_intent(const Installed& installed, const std::string& ns, const std::string& image,
                                         std::string_view manager);

/// The Deployments as they were applied, with another image. kConflict: one was not applied by `manager`.
Result<std::vector<Json>> with_image(const Installed& installed, const std::string& image, std::string_view manager);

}  // namespace fleetadm::upgrade
