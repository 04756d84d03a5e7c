// -o csv: a table for spreadsheets and scripts.
#pragma once

#include <string>

#include "commands/framework/report.h"

namespace fleetadm::cli {

/// All columns as lines of RFC 4180, which end in LF as other tools write them on Unix; a cell with a comma, a quote or a line
/// break is quoted. Cells are data: none is changed, not even one that a spreadsheet would take for a formula.
std::string csv_of(const commands::Table& table, bool headers);

}  // namespace fleetadm::cli
