// What a server offers and asks for in a TLS handshake, and whom it met there.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <openssl/ssl.h>
#include <string>

#include "core/serve/http/message.h"
#include "kubeclient/base/result.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::serve {

/// For streams of tls_stream.h. `client_ca`: PEM; empty: client certificates are not asked for.
Result<std::shared_ptr<boost::asio::ssl::context>> make_server_tls(const pki::KeyPair& certificate, const std::string& client_ca);

/// The client, after the handshake.
Peer peer_of(SSL* ssl);

}  // namespace fleetadm::serve
