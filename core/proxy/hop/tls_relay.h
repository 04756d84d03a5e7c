// Bytes under TLS for somebody who speaks on a plain socket.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <memory>

#include "core/serve/http/socket_stream.h"
#include "kubeclient/base/result.h"

namespace fleetadm::proxy {

/// A socket within this process: what is written there goes out on `stream`, which is on `socket`, past its handshake, and of
/// `context`; and the reverse. Both end together. On an executor of one thread.
Result<boost::asio::ip::tcp::socket> relay_tls(const boost::asio::any_io_executor& executor,
                                               std::shared_ptr<boost::asio::ssl::context> context,
                                               std::unique_ptr<serve::SocketStream> stream, boost::asio::ip::tcp::socket socket);

}  // namespace fleetadm::proxy
