#include "cli/render/columns.h"

#include <algorithm>
#include <utility>

#include "cli/argv/suggest.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::cli {
namespace {

std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == ' ' || c == '_' ? '-' : c;
  return plain;
}

}  // namespace

Status choose_columns(commands::Table& table, const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const commands::Column& column : table.columns) known.push_back(plain_name(column.name));
  std::vector<std::size_t> chosen;
  for (const std::string& name : names) {
    const auto found = std::find(known.begin(), known.end(), plain_name(name));
    if (found == known.end()) {
      const std::vector<std::string> near = nearest(plain_name(name), known);
      return fail(Category::kUsage, "--columns: there is no column \"" + name + "\"",
                  near.empty() ? "the columns are " + joined(known) : "did you mean " + near.front() + "?");
    }
    chosen.push_back(static_cast<std::size_t>(found - known.begin()));
  }
  std::vector<commands::Column> columns;
  for (const std::size_t index : chosen) columns.push_back({table.columns[index].name, false});
  table.columns = std::move(columns);
  for (auto& row : table.rows) {
    std::vector<std::string> cells;
    cells.reserve(chosen.size());
    // A column that is named twice is shown twice.
    for (const std::size_t index : chosen) cells.push_back(index < row.size() ? row[index] : std::string());
    row = std::move(cells);
  }
  return {};
}

}  // namespace fleetadm::cli
