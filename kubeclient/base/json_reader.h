// The fast way from text to DOM, which parse_json() tries first: Boost.JSON's parser reads runs of characters where that of
// nlohmann/json reads one after the other.
#pragma once

#include <string_view>

#include "kubeclient/base/json_builder.h"

namespace fleetadm {

/// Feeds `builder` with the values of `text`, as nlohmann/json would. False: the builder refused it, which is final; or `text` is
/// no plain JSON, or nested deeper than `depth`: what was built then counts for nothing, and only nlohmann/json tells what is
/// wrong with it, or that nothing is (it skips a byte order mark).
bool read_json(std::string_view text, JsonBuilder& builder, int depth = kMaxJsonDepth);

}  // namespace fleetadm
