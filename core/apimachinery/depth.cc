#include "core/apimachinery/depth.h"

#include <algorithm>

namespace fleetadm::apimachinery {

bool nested_deeper(const Json& value, int levels) {
  if (!value.is_structured()) return false;
  return levels <= 0 ||
         std::any_of(value.begin(), value.end(), [&](const Json& child) { return nested_deeper(child, levels - 1); });
}

bool object_too_deep(const Json& object) {
  if (!object.is_object()) return nested_deeper(object, kMaxObjectDepth);
  for (const auto& [name, value] : object.items()) {
    if (nested_deeper(value, (name == "metadata" ? kMaxJsonDepth : kMaxObjectDepth) - 1)) return true;
  }
  return false;
}

}  // namespace fleetadm::apimachinery
