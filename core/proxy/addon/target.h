// What a request from upstream's user server asks of the member: the API server, or a Service
// (docs/reference/cluster-proxy.md#requests). Pure.
#pragma once

#include <string>

#include "core/serve/http/message.h"
#include "kubeclient/base/result.h"

namespace fleetadm::proxy {

/// The path at the member's API server, which leads to Services, too, by their proxy subresource: so the member's own rules judge
/// who may reach them. 400 for headers (Cluster-Proxy-…) that name no target or more than one, and for paths that could be read
/// in different ways.
Result<std::string> target_path(const serve::HttpRequest& request);

}  // namespace fleetadm::proxy
