#include "cli/render/table.h"

#include <algorithm>
#include <numeric>

#include "cli/render/cells.h"
#include "kubeclient/base/log.h"

namespace fleetadm::cli {
namespace {

constexpr std::size_t kPadding = 3;
constexpr std::size_t kMinWidth = 3;    // with its padding six, as in kubectl
constexpr std::size_t kReadable = 8;    // of a name that is cut: less only where nothing else helps
constexpr std::size_t kLeastWidth = 1;  // on a screen that is narrower than any table
using Widths = std::vector<std::size_t>;

std::size_t line_width(const Widths& widths, std::size_t padding) {
  return std::accumulate(widths.begin(), widths.end(), padding * (widths.size() - 1));
}

/// Takes `excess` cells from the widest columns, from none more than down to its `least`. What could not be taken.
std::size_t make_narrower(Widths& widths, const Widths& least, std::size_t excess) {
  while (excess > 0) {
    std::size_t widest = widths.size();
    for (std::size_t k = 0; k < widths.size(); ++k)
      if (widths[k] > least[k] && (widest == widths.size() || widths[k] > widths[widest])) widest = k;
    if (widest == widths.size()) return excess;
    --widths[widest];
    --excess;
  }
  return 0;
}

std::string cut_cell(const std::string& text, std::size_t width, std::string_view more) {
  return text.find(' ') == std::string::npos ? fit_cells_middle(text, width, more) : fit_cells(text, width, more);
}

}  // namespace

std::vector<std::size_t> shown_columns(const commands::Table& table, bool wide) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (wide || !table.columns[i].wide) shown.push_back(i);
  return shown;
}

std::string TablePrinter::print(const commands::Table& table, std::size_t room, std::string_view more) {
  const std::vector<std::size_t> shown = shown_columns(table, wide_);
  if (table.rows.empty() || shown.empty()) return "";
  const bool headers = headers_ && !printed_;
  printed_ = true;

  std::vector<std::vector<std::string>> lines;
  lines.reserve(table.rows.size() + 1);
  Widths titles;
  for (const std::size_t column : shown) titles.push_back(headers_ ? text_width(table.columns[column].name) : 0);
  if (headers) {
    auto& line = lines.emplace_back();
    for (const std::size_t column : shown) line.push_back(table.columns[column].name);
  }
  for (const auto& row : table.rows) {
    auto& line = lines.emplace_back();
    line.reserve(shown.size());
    for (const std::size_t column : shown)
      line.push_back(column < row.size() ? log::escape_terminal(row[column]) : std::string());
  }
  widths_.resize(std::max(widths_.size(), shown.size()), kMinWidth);
  for (const auto& line : lines)
    for (std::size_t k = 0; k < line.size(); ++k) widths_[k] = std::max(widths_[k], text_width(line[k]));

  Widths widths(widths_.begin(), widths_.begin() + static_cast<std::ptrdiff_t>(shown.size()));
  std::size_t padding = kPadding;
  const bool tight = room > 0 && line_width(widths, padding) > room;
  if (tight) {
    Widths least = titles;
    for (std::size_t& width : least) width = std::max(width, kReadable);
    const Widths bare(widths.size(), kLeastWidth);
    // First names, then the room between columns, then column names.
    if (make_narrower(widths, least, line_width(widths, padding) - room) > 0) {
      padding = 1;
      const std::size_t wanted = line_width(widths, padding);
      if (wanted > room) make_narrower(widths, bare, wanted - room);
    }
  }

  std::string out;
  out.reserve((line_width(widths, padding) + 1) * lines.size());
  for (auto& line : lines) {
    const std::size_t begin = out.size();
    for (std::size_t k = 0; k < line.size(); ++k) {
      if (tight) line[k] = cut_cell(line[k], widths[k], more);
      out += line[k];
      if (k + 1 < line.size()) out.append(widths[k] + padding - std::min(widths[k], text_width(line[k])), ' ');
    }
    // More columns than the screen has cells.
    if (tight) out.replace(begin, std::string::npos, fit_cells(std::string_view(out).substr(begin), room, more));
    out += '\n';
  }
  return out;
}

}  // namespace fleetadm::cli
