// serverSideApply.ignoreFields: fields that the agent leaves to others (reference registration-work-addon.md 2.5). Pure.
#pragma once

#include <optional>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::work {

/// Settles what `ignore_fields` names in `intent`, where the object exists (`live`); nothing is ignored on creation. The intent
/// takes over what is live, or loses the field where the object has none: an intent without a field that only we have set would
/// remove it. OnSpokeChange: where the manifest itself changed (`manifest_changed`) the manifest's value counts.
///
/// JSON pointers (RFC 6901), JSONPaths and jq paths: `.spec.replicas`, `.metadata.annotations["x/y"]`, `.spec.items[0]`,
/// `.spec.containers[*].image` or `[].image`, `[?(@.name=="web")]`, `[] | select(.name == "web") | .image`, also in braces. A
/// target that is absent is fine. Anything else: Category::kUnsupported, naming the expression.
Status settle_ignored_fields(const Json& ignore_fields, const std::optional<Json>& live, bool manifest_changed, Json& intent);

/// Takes out what is ignored OnSpokePresent: a manifest that differs in nothing else is the same one. Expressions as above.
Status drop_present_fields(const Json& ignore_fields, Json& object);

}  // namespace fleetadm::work
