// What the workload controllers share: which objects are theirs, and the pods that they make.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/sandbox/controllers/controller.h"
#include "kubeclient/base/query_selectors.h"

namespace fleetadm::sandbox {

bool pod_finished(const Json& pod);
bool pod_ready(const Json& pod);
/// Ready for at least so long. One that is going to be makes `next` that time, where it is sooner.
bool pod_available(const Json& pod, std::int64_t min_ready_seconds, Instant now, std::optional<Instant>& next);

/// A pod of the owner's template, under a generated name.
Json pod_from_template(const Json& owner);

/// "25%" of a number, or the number itself; 0 where there is none.
std::int64_t share_of(const Json* value, std::int64_t of, bool round_up);

/// Ten letters and figures of a pod template, without the label that Deployments put into it.
std::string hash_of_template(Json pod_template);

/// The objects of a kind that the owner controls. Orphans that the selector matches become its own, and its own that the
/// selector no longer matches are let go. Nothing is changed for an owner that is being deleted.
std::vector<Json> claim(const ControllerContext& context, const Kind& kind, const Json& owner, const LabelSelector& selector);
/// Those that it controls as they are.
std::vector<Json> owned_by(const ControllerContext& context, const Kind& kind, const Json& owner);

/// metadata.labels, sorted, as selectors take them.
Labels labels_of(const Json& object);

/// Puts a count into a status; what is not there stands for zero.
void set_count(Json& status, const char* field, std::int64_t value);

}  // namespace fleetadm::sandbox
