// How deep what a client sends may be nested. Everything here that walks a value recurses; nothing of a client's may make it end
// the stack.
#pragma once

#include "kubeclient/base/json.h"

namespace fleetadm::apimachinery {

/// Of an object without its metadata. managedFields repeat its fields four levels further down, and what is stored has to stay
/// within kMaxJsonDepth.
inline constexpr int kMaxObjectDepth = kMaxJsonDepth - 12;

/// There are more lists and objects around each other than `levels`. Looks no deeper than that.
bool nested_deeper(const Json& value, int levels);
/// Deeper than kMaxObjectDepth; its metadata deeper than kMaxJsonDepth.
bool object_too_deep(const Json& object);

}  // namespace fleetadm::apimachinery
