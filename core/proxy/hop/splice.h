// Two connections made one.
#pragma once

#include <boost/asio/ip/tcp.hpp>

namespace fleetadm::proxy {

/// Passes on what comes from either to the other, no faster than that takes it, and where one side ends, the end; until both have
/// ended, or one breaks: then both are closed. Both are of the same I/O thread, on which it is called.
void splice(boost::asio::ip::tcp::socket one, boost::asio::ip::tcp::socket other);

}  // namespace fleetadm::proxy
