// Tells when a member does not answer what it is asked anyway, by works and watches, so that nobody waits for the next probe.
#pragma once

#include <functional>

#include "kubeclient/rest/client.h"

namespace fleetadm::push {

/// The same client. `alarm` is called, on any thread, whenever one of its requests or streams ended without an answer or was
/// refused (401); it must not block. What was cancelled is no alarm.
kube::Client with_alarm(const kube::Client& member, std::function<void()> alarm);

}  // namespace fleetadm::push
