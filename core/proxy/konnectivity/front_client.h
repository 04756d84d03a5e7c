// Connections through the front end of upstream's cluster-proxy (konnectivity, over gRPC): the way to a member behind a hub that
// has no gateway of ours.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <string>

#include "kubeclient/base/result.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::konnectivity {

struct FrontOptions {
  std::string host;  // of the front end, without brackets
  std::string port = "8090";
  std::string server_name;                  // that its certificate has to be valid for; empty: the host
  std::string ca;                           // PEM, which vouches for the front end
  pki::KeyPair certificate;                 // of a client: of the user server, as the hub's Secret has it
  std::chrono::milliseconds dial{5000};     // to have a TCP connection to the front end
  std::chrono::milliseconds target{30000};  // from there to the answer that the target is connected
};

/// Connects to `target` ("host:port", a name that the cluster's agent announces) on a connection of its own to the front end. The
/// result behaves like a connected socket: bytes that are written go to the target, what the target sends can be read, no faster
/// than it is, and closing it closes the target's connection. The protocol cannot close one direction alone: to shut it down for
/// writing closes it. Nothing of what goes through it is encrypted by this: whoever uses it speaks TLS with the target and
/// verifies it there, since the front end and every agent on the way read along.
///
/// On the executor's thread, which has to be one alone, as `done` is called, once, and not from within. kTls: the front end is
/// not who it should be, or does not take the certificate. kTimeout, kUnavailable: it or the target cannot be reached. kInvalid:
/// what answers does not keep the protocol.
void dial_through_front(const boost::asio::any_io_executor& executor, const FrontOptions& options, const std::string& target,
                        std::function<void(Result<boost::asio::ip::tcp::socket>)> done);

}  // namespace fleetadm::konnectivity
