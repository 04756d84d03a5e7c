// /api, /apis, /version and /openapi/v3 (reference kubernetes-wire.md B.13).
#pragma once

#include <memory>

#include "core/sandbox/api/read.h"

namespace fleetadm::sandbox {

/// Discovery documents, /version, health and OpenAPI: every path that is no resource. 404 (plain text) for others.
ApiResult<HttpResponse> answer_path(const std::shared_ptr<ApiState>& state, const ApiRequest& request);

Json openapi_document(const std::vector<KindPtr>& rows);

}  // namespace fleetadm::sandbox
