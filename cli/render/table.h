// Columns of text as kubectl aligns them: three spaces between columns, at least six characters a column, none after the last.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/report.h"

namespace fleetadm::cli {

/// Prints tables one after another (-w) with the widths of the first kept as minima.
class TablePrinter {
 public:
  TablePrinter(bool wide, bool headers) : wide_(wide), headers_(headers) {}

  /// The table's text. The header line comes with the first table that has rows.
  std::string print(const commands::Table& table);

 private:
  bool wide_;
  bool headers_;
  bool printed_ = false;
  std::vector<std::size_t> widths_;
};

/// Characters, not bytes, of valid UTF-8.
std::size_t text_width(std::string_view text);

}  // namespace fleetadm::cli
