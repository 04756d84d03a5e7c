// What controllers tell people about objects (core/v1 Events), and the end of what anyone told.
#pragma once

#include <string>
#include <string_view>

#include "core/sandbox/controllers/controller.h"

namespace fleetadm::sandbox {

/// The same again counts up. `type`: "Normal", "Warning". Nothing where the namespace ends.
void record_event(const ControllerContext& context, const Json& object, std::string_view component, std::string_view type,
                  std::string_view reason, const std::string& message);

}  // namespace fleetadm::sandbox
