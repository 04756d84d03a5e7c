// Which end of a connection a codec is.
#pragma once

#include <cstdint>

namespace fleetadm::kube {

enum class StreamRole : std::uint8_t { kClient, kServer };

}  // namespace fleetadm::kube
