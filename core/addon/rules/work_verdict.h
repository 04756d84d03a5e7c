// What an add-on's works alone say of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/addon/rules/object_reader.h"

namespace fleetadm::addon {

/// A condition Available, without its times.
struct Verdict {
  std::string_view status;
  std::string_view reason;
  std::string message;
};

/// There are none, or one is not available; nullopt: all are.
std::optional<Verdict> trouble_of_works(const std::vector<ObjectPtr>& works);

}  // namespace fleetadm::addon
