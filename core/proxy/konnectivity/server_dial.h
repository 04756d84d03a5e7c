// A connection to a konnectivity server: TCP, mutual TLS, HTTP/2, and then what a stream of packets says on it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/serve/http/connection.h"
#include "kubeclient/base/result.h"
#include "kubeclient/config/forward_proxy.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::konnectivity {

struct ServerOptions {
  std::string host;  // without brackets
  std::string port;
  std::optional<kube::ForwardProxy> proxy;  // by which it is reached; none: directly
  std::string server_name;                  // that its certificate has to be valid for; empty: the host
  std::string ca;                           // PEM, which vouches for it
  pki::KeyPair certificate;                 // the client's
  std::chrono::milliseconds dial{5000};
};

/// What to say once the handshake is done.
using Speak = std::function<std::shared_ptr<serve::Protocol>(serve::ProtocolHost host)>;

/// On the executor's thread, which has to be one alone. `failed` is called, once and not from within, where it does not come to
/// `speak`; after that it is the protocol that learns of the end. `dialed` gets the connection when there is one.
void dial_server(const boost::asio::any_io_executor& executor, const ServerOptions& options, Speak speak,
                 std::function<void(const Error&)> failed,
                 std::function<void(const std::shared_ptr<serve::Connection>&)> dialed = nullptr);

}  // namespace fleetadm::konnectivity
