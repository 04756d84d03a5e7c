// GET of pods/NAME/log (docs/reference/kubernetes-streams.md#endpoints): the output of containers that the sandbox's process
// node runs.
#pragma once

#include <memory>

#include "core/sandbox/api/read.h"
#include "core/sandbox/node/containers.h"

namespace fleetadm::sandbox {

/// `containers` may be null: then no node of this process runs anything. Times of lines are not kept: timestamps, sinceSeconds
/// and sinceTime are refused (400). Containers that are mere claims have an empty log.
ApiResult<serve::HttpResponse> answer_pod_log(const std::shared_ptr<ApiState>& state,
                                              const std::shared_ptr<const ContainerTable>& containers,
                                              const serve::ApiRequest& request, const KindPtr& kind);

}  // namespace fleetadm::sandbox
