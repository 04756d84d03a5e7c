// Connections that a process makes itself.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <string>

#include "kubeclient/base/result.h"

namespace fleetadm::proxy {

/// Connects to a host (a name, or an address without brackets), one address of it after the other, within `patience`. `done` is
/// called once, on the executor, and not from within dial(): kUnavailable, or kTimeout where nobody answered.
void dial(const boost::asio::any_io_executor& executor, const std::string& host, const std::string& port,
          std::chrono::milliseconds patience, std::function<void(Result<boost::asio::ip::tcp::socket>)> done);

}  // namespace fleetadm::proxy
