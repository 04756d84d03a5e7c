// What OpenSSL keeps of the other end of a connection.
#pragma once

#include <openssl/ssl.h>

namespace fleetadm::pki {

/// After the handshake, once it is known who the peer is: frees its certificates, which take some 8 KiB of a connection for as
/// long as it is open. SSL_get0_peer_certificate() answers null from then on; all else goes on. For connections whose session is
/// in no cache, and that do not negotiate again.
void forget_peer_certificates(SSL* ssl);

}  // namespace fleetadm::pki
