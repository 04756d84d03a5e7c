// What the gateway asks the hub's API server about callers. Thread-safe; blocks.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/proxy/rules/caller.h"
#include "core/serve/request_info.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::proxy {

/// A caller, or nobody where the token is good for none.
struct ReviewedToken {
  std::unique_ptr<const Caller> caller;
};

/// TokenReview. Empty `audience`: that of the API server. 503 where the hub gives no answer.
Result<ReviewedToken> review_token(const kube::Client& hub, const std::string& token, std::string_view audience);

/// SubjectAccessReview of a resource. 503 where the hub gives no answer.
Result<bool> review_access(const kube::Client& hub, const Caller& caller, const serve::Attributes& what);

}  // namespace fleetadm::proxy
