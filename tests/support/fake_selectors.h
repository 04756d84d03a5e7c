// Label and field selectors as the fake server understands them.
#pragma once

#include <string_view>

#include "kubeclient/base/json.h"

namespace fleetadm::testkit {

/// "a=b,c!=d,e in (f,g),h notin (i),j,!k" (docs/reference/kubernetes-api.md#selectors).
bool matches_labels(const Json& object, std::string_view selector);
/// "metadata.name=x,status.phase!=Running": any dotted path of strings.
bool matches_fields(const Json& object, std::string_view selector);

}  // namespace fleetadm::testkit
