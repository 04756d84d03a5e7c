// Descriptors beside the sockets of clients (pipes, terminals, a pod's ports) on the server's I/O thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

#include "core/serve/http/upgrade.h"

namespace fleetadm::serve {

/// `ready` is called on the I/O thread, not after the watch has ended. Null where the kernel cannot tell of such a descriptor.
std::unique_ptr<DescriptorWatch> watch_descriptor(const boost::asio::any_io_executor& executor, int descriptor,
                                                  std::function<void()> ready);

}  // namespace fleetadm::serve
