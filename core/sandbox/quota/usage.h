// What objects count for in resource quotas. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/sandbox/model/kind.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/quantity.h"

namespace fleetadm::sandbox::quota {

/// By the resource's name as quotas have it: "pods", "requests.cpu", "count/jobs.batch".
using Amounts = std::map<std::string, Quantity>;

/// Objects of the kind can count for this resource.
bool counts_for(const Kind& kind, std::string_view resource);
/// What one object counts for now: a finished pod for itself only.
Amounts usage_of(const Kind& kind, const Json& object, Instant now);
/// Whether quotas look at an update: it can change what the object counts for.
bool update_counts(const Kind& kind, const Json& object, const Json& old);
/// The object is among those that the quota is for, by its scopes.
bool in_scopes(const Json& quota, const Kind& kind, const Json& object);
/// "Guaranteed", "Burstable", "BestEffort".
std::string qos_class(const Json& pod);
/// "must specify limits.cpu for: a,b; requests.memory for: a"; empty where the pod says all that these resources demand of it.
std::string unspecified(const Json& pod, const Amounts& restricted);

/// What a pod needs at its peak of "requests" or "limits": all its containers together, or one that comes before them.
Amounts peak_of(const Json& pod, std::string_view what);

/// The amounts of an object of quantities; what is no quantity is left out.
Amounts amounts_of(const Json& list);
Json to_json(const Amounts& amounts);
/// "cpu=1,pods=2"
std::string to_text(const Amounts& amounts);
/// Those that are in `names`, too.
Amounts masked(const Amounts& amounts, const Amounts& names);

}  // namespace fleetadm::sandbox::quota
