// Connections to the outside that go through a proxy.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "kubeclient/base/result.h"
#include "kubeclient/config/forward_proxy.h"

namespace fleetadm::proxy {

/// dial(), where there is a proxy by asking it to CONNECT. What is said on the socket then goes to the host; of a proxy with TLS
/// it is one end of a pair within this process. kAuth where the proxy wants other credentials, kTls where it is not who it should
/// be, kUnavailable where it refuses. On an executor of one thread.
void dial_by(const boost::asio::any_io_executor& executor, const std::optional<kube::ForwardProxy>& proxy,
             const std::string& host, const std::string& port, std::chrono::milliseconds patience,
             std::function<void(Result<boost::asio::ip::tcp::socket>)> done);

}  // namespace fleetadm::proxy
