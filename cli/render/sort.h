// --sort-by: the order of a list's objects by one of their fields.
#pragma once

#include "cli/render/jsonpath.h"
#include "commands/framework/report.h"

namespace fleetadm::cli {

/// Sorts data.items by what `path` finds in each, and the table's rows and the names with them where they match one to one.
/// Objects without the field come first. Numbers and quantities sort by value, other text naturally ("c2" before "c10").
Status sort_report(commands::Report& report, const JsonPath& path);

}  // namespace fleetadm::cli
