// Network devices of the namespace that the calling thread is in.
#pragma once

#include <string>

namespace fleetadm::testkit {

/// Up, and with this IPv4 address of a network of 256, if one is given. "cable0:1": a further address of "cable0".
bool network_device_up(const std::string& name, const std::string& address = {});

/// A pair of virtual Ethernet devices: one here and one in the namespace of a descriptor, both of this name.
bool make_cable(const std::string& name, int other_namespace);

}  // namespace fleetadm::testkit
