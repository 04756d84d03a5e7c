// Requests in another's name (impersonation) differ from one's own in their headers alone. A transport that sends them uses the
// connections of one that has the same credential and server, while there is one.
#pragma once

#include <memory>

#include "kubeclient/transport/exchange_context.h"

namespace fleetadm::kube {

/// The connections for a transport: of its own, or, where it impersonates somebody, lent. Any thread. The context is whole but
/// for its connections, which are set here.
void give_connections(const std::shared_ptr<ExchangeContext>& context);

}  // namespace fleetadm::kube
