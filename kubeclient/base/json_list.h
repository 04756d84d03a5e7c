// Parses a Kubernetes list while its text arrives: each element of the top-level "items" is handed over as soon as it is
// complete and then forgotten, so that a list of any length costs the memory of one item.
#pragma once

#include <functional>
#include <string_view>

#include "kubeclient/base/json.h"

namespace fleetadm {

/// The next piece of the text, valid until the next call; empty at the end. May block.
using JsonSource = std::function<std::string_view()>;

/// Answers the list without its items (`items` is an empty array). The items come in order, without metadata.managedFields,
/// which is half of what a server sends and is never looked at. kInvalid for what is no list, for an item that is no object,
/// and for bad syntax; an error of `on_item` ends the parse and is the answer.
Result<Json> parse_json_list(const JsonSource& next, const std::function<Status(Json&& item)>& on_item);

}  // namespace fleetadm
