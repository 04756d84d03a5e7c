// Where patches, field checks and server-side apply meet the type facts of core/apimachinery.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/sandbox/api/read.h"
#include "core/sandbox/engine/custom.h"

namespace fleetadm::sandbox {

/// PATCH application/apply-patch+yaml.
ApiResult<serve::HttpResponse> answer_apply(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                            const KindPtr& kind, WriteOptions options);

/// Drops unknown fields of built-in kinds, by fieldValidation: Strict 400, Warn one warning each, Ignore silently.
ApiStatus check_fields(const Kind& kind, Json& object, const serve::ApiRequest& request, std::vector<std::string>& warnings);

ApiResult<Json> strategic_patch(const Kind& kind, const Json& old, const Json& patch);

/// Managed fields of writes that are no applies.
TrackFields field_tracker();

}  // namespace fleetadm::sandbox
