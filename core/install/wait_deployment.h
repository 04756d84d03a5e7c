// Waiting for the pods of what was installed.
#pragma once

#include <functional>
#include <stop_token>
#include <string_view>

#include "core/install/pod_trouble.h"
#include "kubeclient/base/clock.h"

namespace fleetadm::install {

/// The Deployment has its replicas available at its current generation; else kTimeout that says what keeps its pods from it.
/// `told` gets each trouble as soon as it is seen, once: it may pass (an image that is pushed late), so the waiting goes on.
Status wait_deployment(const kube::Client& client, std::string_view ns, std::string_view name, Duration timeout,
                       std::stop_token stop, const std::function<void(const PodTrouble&)>& told = {});

}  // namespace fleetadm::install
