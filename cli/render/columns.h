// --columns: which columns of a table are shown, and in which order.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/report.h"

namespace fleetadm::cli {

/// Leaves in `table` the columns of these names, in this order; columns of the wide output may be chosen, too. Names are compared
/// without case; '-' and '_' stand for a space. A name that the table does not have is a usage error.
Status choose_columns(commands::Table& table, const std::vector<std::string>& names);

}  // namespace fleetadm::cli
