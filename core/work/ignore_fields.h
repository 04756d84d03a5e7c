// serverSideApply.ignoreFields: fields that the agent leaves to others (reference registration-work-addon.md 2.5). Pure.
#pragma once

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::work {

/// Removes from `intent` what `ignore_fields` names. OnSpokePresent entries count only where the object exists (`present`);
/// OnSpokeChange entries likewise, since on creation there is no change to respect. JSON pointers (RFC 6901) and plain paths
/// (`.spec.replicas`, `.metadata.annotations["x/y"]`, `.spec.items[0]`, also as JSONPath `{.spec.replicas}` or jq path); a
/// target that is absent is fine. Anything else: Category::kUnsupported, naming the expression.
Status drop_ignored_fields(const Json& ignore_fields, bool present, Json& intent);

}  // namespace fleetadm::work
