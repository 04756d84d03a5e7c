// What upstream's placement debugger answers under /debug/placements/<namespace>/<name>
// (docs/reference/placement.md#debug-endpoint): the stored placement scheduled once more, with what each stage did. Read-only;
// nothing is written.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/controller/controller.h"
#include "core/placement/hub/scheduler_cache.h"

namespace fleetadm::placement {

inline constexpr std::string_view kDebugPrefix = "/debug/placements/";

/// `stored` answers the placement's object by its key, or nullopt.
controller::Manager::Page debug_page(std::string_view path, const SchedulerCache& fleet,
                                     const std::function<std::optional<Json>(const std::string& key)>& stored, Instant now,
                                     const CelEvaluator* cel);

}  // namespace fleetadm::placement
