// What of a message's headers goes on to the next hop.
#pragma once

#include "core/serve/http/message.h"

namespace fleetadm::proxy {

/// The message asks for, or announces, another protocol on its connection (connection: upgrade).
bool is_upgrade(const serve::Headers& headers);

/// Drops what concerns one connection alone (RFC 9110, 7.6.1): connection and all it names, keep-alive, te, trailer,
/// transfer-encoding, content-length, proxy-*, upgrade. Who sends the message on frames it anew.
void drop_hop_headers(serve::Headers& headers);

/// Drops what says who asks, from where, or for whom: authorization, cookie, host, x-remote-*, impersonate-*, x-forwarded-*,
/// forwarded, via, x-real-ip, cluster-proxy-*, and this program's own (fleetadm-*).
void drop_identity_headers(serve::Headers& headers);

/// The same of an answer: set-cookie, audit headers of hops (via), and this program's own.
void drop_answer_headers(serve::Headers& headers);

}  // namespace fleetadm::proxy
