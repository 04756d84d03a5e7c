// What the ends of a connection offer and ask for in a TLS handshake, and whom they met there.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <openssl/ssl.h>
#include <string>

#include "core/serve/http/message.h"
#include "kubeclient/base/result.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::serve {

/// For streams of tls_stream.h. `client_ca`: PEM; empty: client certificates are not asked for. `only_tls13`: otherwise 1.2 will
/// do.
Result<std::shared_ptr<boost::asio::ssl::context>> make_server_tls(const pki::KeyPair& certificate, const std::string& client_ca,
                                                                   bool only_tls13 = false);

/// The client's side of a connection.
struct ClientTls {
  std::string ca;            // PEM, which the server's certificate must end in; empty: the system's roots
  pki::KeyPair certificate;  // the client's; without one it shows none
  bool http2 = false;        // offered by ALPN, alone; otherwise http/1.1 alone
  bool only_tls13 = false;   // otherwise 1.2 will do
};

/// The peer is always verified. For streams of tls_stream.h.
Result<std::shared_ptr<boost::asio::ssl::context>> make_client_tls(const ClientTls& options);

/// The peer, after the handshake.
Peer peer_of(SSL* ssl);

}  // namespace fleetadm::serve
