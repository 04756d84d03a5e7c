// Impersonation headers (docs/reference/kubernetes-access.md#impersonation).
#pragma once

#include "core/sandbox/auth/rbac.h"

namespace fleetadm::sandbox {

/// The user that the request wants to be, where its own may; without such headers the user itself.
ApiResult<serve::User> impersonate(const Rbac& rbac, const serve::User& user, const serve::HttpRequest& request);

}  // namespace fleetadm::sandbox
