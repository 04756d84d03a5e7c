// --sort-by: the order of a list's objects by one of their fields.
#pragma once

#include "commands/framework/report.h"
#include "kubeclient/base/jsonpath.h"

namespace fleetadm::cli {

/// Sorts data.items by what `path` finds in each, and the table's rows and the names with them where they match one to one.
/// Objects without the field come first. Numbers and quantities sort by value, other text naturally ("c2" before "c10").
Status sort_report(commands::Report& report, const JsonPath& path);

/// Sorts by the table's column of this name, compared without case: ages by time, other cells as sort_report does. False where
/// there is none.
bool sort_by_column(commands::Report& report, std::string_view name);

}  // namespace fleetadm::cli
