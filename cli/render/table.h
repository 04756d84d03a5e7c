// Columns of text as kubectl aligns them: three spaces between columns, at least six characters a column, none after the last.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "commands/framework/report.h"

namespace fleetadm::cli {

/// Prints tables one after another (-w) with the widths of the first kept as minima.
class TablePrinter {
 public:
  TablePrinter(bool wide, bool headers) : wide_(wide), headers_(headers) {}

  /// The table's text. The header line comes with the first table that has rows. `room`: the cells of a line, 0: as many as are
  /// needed. Where there are fewer, the widest columns are cut, names in their middle and sentences at their end, marked with
  /// `more`.
  std::string print(const commands::Table& table, std::size_t room = 0, std::string_view more = "...");

 private:
  bool wide_;
  bool headers_;
  bool printed_ = false;
  std::vector<std::size_t> widths_;  // of the cells alone
};

/// The columns that are shown: all but the wide ones where `wide` is not set.
std::vector<std::size_t> shown_columns(const commands::Table& table, bool wide);

}  // namespace fleetadm::cli
