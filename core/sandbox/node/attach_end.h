// attach: the output of a container's own process from now on, and its stdin where its pod has one.
#pragma once

#include <memory>
#include <string>

#include "core/sandbox/node/containers.h"
#include "core/serve/streams/exec_target.h"
#include "kubeclient/base/result.h"

namespace fleetadm::sandbox {

/// Of a container that runs (its runs have a place). Both of its outputs are one file here, so all of it comes as kOutput.
Result<std::unique_ptr<serve::ExecTarget>> attach_to(const std::shared_ptr<const ContainerTable>& containers,
                                                     const std::string& pod, const std::string& pod_uid,
                                                     const std::string& container, const ContainerRuns& runs,
                                                     const serve::ChannelsWanted& wanted);

}  // namespace fleetadm::sandbox
