// The two versions of ManagedClusterAddOn and ClusterManagementAddOn (docs/reference/addon.md#versions). The server keeps them as
// v1alpha1; v1beta1 is what the rules speak. Pure.
#pragma once

#include <string_view>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::addon {

/// Of a v1beta1 default: the add-on supports the type and has no default for it.
inline constexpr std::string_view kNoDefaultConfig = "__reserved_no_default__";

/// Annotations that hold, as JSON, what the version of the object cannot say and the other one said. Each stands on objects of
/// the other version alone. A part is put back for as long as nobody has changed what became of it.
inline constexpr std::string_view kKeptOfV1alpha1Annotation = "fleetadm.io/v1alpha1-fields";
inline constexpr std::string_view kKeptOfV1beta1Annotation = "fleetadm.io/v1beta1-fields";

/// The object in the version of `api_version`. There and back is the same object, whichever version it was written in. A member
/// that is null counts as absent, one of a wrong type is taken along as it is. kUnsupported: it is of another kind, or either
/// version is unknown.
Result<Json> convert_addon(const Json& object, std::string_view api_version);

}  // namespace fleetadm::addon
