// The bytes of an upgraded connection as two bodies: a request's, which is said to it, and an answer's, which it says.
#pragma once

#include <memory>

#include "core/serve/http/body_pipe.h"
#include "core/serve/http/upgrade.h"

namespace fleetadm::proxy {

/// What is read of the stream that it returns is what `connection` says. What comes in `said` (may be null) is handed to
/// `connection` as it comes, no faster than that takes it. Dropped, or with `said` broken off, the connection ends. I/O thread
/// only; `said` is written to there as well.
std::shared_ptr<serve::BodyStream> join_switched(std::shared_ptr<serve::UpgradedStream> connection,
                                                 std::shared_ptr<serve::BodyReader> said);

}  // namespace fleetadm::proxy
