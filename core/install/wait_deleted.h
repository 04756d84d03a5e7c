// Waiting for the end of what was deleted.
#pragma once

#include <stop_token>

#include "kubeclient/rest/client.h"

namespace fleetadm::install {

/// Blocks until `object`, whose deletion was asked for, is gone, or another of its name is there (another uid). A
/// CustomResourceDefinition that the server has given up on is asked for again. kTimeout tells what keeps the object: what the
/// server says of a namespace or a type, or the finalizers.
Status wait_deleted(const kube::Client& client, const kube::Resource& resource, const Json& object, Duration timeout,
                    const std::stop_token& stop);

}  // namespace fleetadm::install
