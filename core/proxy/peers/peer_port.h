// The port at which a replica of the gateway sends on the requests of the others to clusters whose tunnels it has.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/proxy/hop/hop.h"
#include "core/serve/http/server.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::proxy {

/// Requests of other replicas, which have judged them: they say who acts at the member as the tunnel is told. 401 for anybody
/// else. `tunnel` gives this replica's own way to a cluster, and null where it has none (503, which ends it: a request is sent on
/// once). I/O thread only.
serve::HttpHandler answer_peers(std::function<std::shared_ptr<Hop>(std::string_view cluster)> tunnel);

/// For such requests: mutual TLS 1.3 by the gateway's own CA.
serve::ListenOptions peer_listener(const std::string& address, int port, const pki::KeyPair& certificate, const std::string& ca);

}  // namespace fleetadm::proxy
