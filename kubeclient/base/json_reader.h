// The fast way from text to DOM, which parse_json() tries first: Boost.JSON's parser reads runs of characters where that of
// nlohmann/json reads one after the other.
#pragma once

#include <string_view>

#include "kubeclient/base/json_builder.h"

namespace fleetadm {

/// Feeds `builder` with the values of `text`, as nlohmann/json would. False: `text` is no plain JSON, is nested deeper
/// than `depth`, or the builder refused it;
/// what was built then counts for nothing, and only nlohmann/json tells what is wrong with the text, or that nothing is (it
/// skips a byte order mark). The builder's refusal is final.
bool read_json(std::string_view text, JsonBuilder& builder, int depth = kMaxJsonDepth);

}  // namespace fleetadm
