// Add-ons of clusters that the hub dials, where nothing registers with the hub and nothing renews or reads the lease of an add-on
// (docs/reference/addon.md#push-members).
#pragma once

#include <string_view>

#include "core/addon/rules/pass.h"

namespace fleetadm::addon {

/// The reason of RegistrationApplied where an add-on needs what only an agent could do.
inline constexpr std::string_view kNoAgent = "NoAgent";

/// Whether the template asks for what an agent on the cluster would have to do, and there is none.
bool needs_an_agent(const ObjectReader& objects, const Json& addon, const Json& addon_template);
/// Whether that was said of the add-on: it is not deployed.
bool waits_for_an_agent(const Json& addon);

/// Of an add-on that is not judged by whoever manages it (status.healthCheck.mode Customized): Available, as its works are.
/// Nothing for any other cluster, and while this one is not heard from.
Pass dialed_health_pass(const ObjectReader& objects, std::string_view cluster, std::string_view addon, Instant now);

}  // namespace fleetadm::addon
