// The CEL library kubernetes.authz: `authorizer.group("apps").resource("deployments").check("create").allowed()` and its kin
// (Kubernetes 1.35). Values carry whom they ask about and how to ask, so that they live no longer than the evaluation.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/cel/library.h"
#include "core/sandbox/auth/rbac.h"

namespace fleetadm::sandbox::admission {

using Ask = std::function<Decision(const serve::User&, const serve::Attributes&)>;

cel::Type authorizer_type();
cel::Type resource_check_type();
/// path, group, serviceAccount, resource, subresource, namespace, name, fieldSelector, labelSelector, check, allowed, reason,
/// errored, error. Selectors narrow nothing: RBAC knows none.
cel::Library authorizer_library();

/// The value of `authorizer`: asks about `user`.
cel::Value authorizer_value(serve::User user, std::shared_ptr<const Ask> ask);
/// The value of `authorizer.requestResource`: of `what` group, resource, subresource, namespace and name count.
cel::Value resource_check_value(serve::User user, std::shared_ptr<const Ask> ask, const serve::Attributes& what);

}  // namespace fleetadm::sandbox::admission
