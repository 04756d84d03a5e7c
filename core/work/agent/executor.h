// spec.executor: may the named service account do what the work asks for (docs/reference/work.md#executor)? Asked by
// SubjectAccessReviews on the spoke; no impersonation, and nothing is remembered: a doubt is a refusal.
#pragma once

#include <string>
#include <vector>

#include "core/work/rules/manifest.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::work {

/// The verbs the executor needs for one object.
std::vector<std::string> executor_verbs(bool owned);

/// Success: allowed, or the work names no executor. kAuth: refused (Error.reason "ExecutorDenied"). Other errors: could not be
/// asked. For roles and bindings the executor must hold what it would grant (or `escalate`, `bind`).
Status check_executor(const kube::Client& spoke, const Json& work, const Manifest& manifest, bool owned);
/// The same for nothing but reading it: what the executor may not get, nobody may learn from the work's status.
Status check_executor_reads(const kube::Client& spoke, const Json& work, const Manifest& manifest);

/// Whether the work's executor may list objects of a type of the core group in a namespace; true where the work names none. A
/// doubt is a refusal.
bool executor_may_list(const kube::Client& spoke, const Json& work, const std::string& resource, const std::string& ns);

inline constexpr const char* kExecutorDenied = "ExecutorDenied";

}  // namespace fleetadm::work
