// pods/NAME/exec, attach and portforward (docs/reference/kubernetes-streams.md): sessions with what the sandbox's process node
// runs. Whoever may create pods/exec here runs commands as the user who runs the sandbox.
#pragma once

#include <memory>

#include "core/sandbox/api/read.h"
#include "core/sandbox/node/containers.h"

namespace fleetadm::sandbox {

/// "exec", "attach", "portforward": needs the right to create, whatever the request's verb.
bool is_pod_connection(const std::string& subresource);

/// What the request asks for as an object: PodExecOptions, PodAttachOptions or PodPortForwardOptions, as admission sees it.
Json connection_options(const serve::ApiRequest& request);

/// May block (it starts the command). `containers` may be null: then no node of this process runs anything. 400 where no upgrade
/// is asked for or the request makes no sense, 404 without the pod, 500 with a kubelet's words where its container does not run.
/// What a container cannot run (also of images that have no process here) is told on the status channel, as a kubelet does.
ApiResult<serve::HttpResponse> answer_pod_connection(const std::shared_ptr<ApiState>& state,
                                                     const std::shared_ptr<const ContainerTable>& containers,
                                                     const serve::ApiRequest& request, const KindPtr& kind);

}  // namespace fleetadm::sandbox
