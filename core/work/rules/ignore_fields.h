// serverSideApply.ignoreFields: fields that the agent leaves to others (docs/reference/work.md#update-strategies). Pure.
#pragma once

#include <optional>
#include <string_view>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::work {

/// Settles what `ignore_fields` names in `intent`, where the object exists (`live`); nothing is ignored on creation. Of what is
/// live the intent takes over what `manager` holds by server-side apply, as leaving that out would remove it; the rest is left
/// out, so that the manager does not come to hold what others may want to apply. OnSpokeChange: where the manifest itself changed
/// (`manifest_changed`) the manifest's value counts.
///
/// JSON pointers (RFC 6901), JSONPaths and jq paths: `.spec.replicas`, `.metadata.annotations["x/y"]`, `.spec.items[0]`,
/// `.spec.containers[*].image` or `[].image`, `[?(@.name=="web")]`, `[] | select(.name == "web") | .image`, also in braces. A
/// target that is absent is fine. Anything else: Category::kUnsupported, naming the expression.
Status settle_ignored_fields(const Json& ignore_fields, const std::optional<Json>& live, std::string_view manager,
                             bool manifest_changed, Json& intent);

/// Takes out what is ignored OnSpokePresent: a manifest that differs in nothing else is the same one. Expressions as above.
Status drop_present_fields(const Json& ignore_fields, Json& object);

}  // namespace fleetadm::work
