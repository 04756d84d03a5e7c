#include "cli/render/table.h"

#include <algorithm>

#include "kubeclient/base/log.h"

namespace fleetadm::cli {
namespace {

constexpr std::size_t kPadding = 3;
constexpr std::size_t kMinWidth = 6;

void put(std::string& out, std::string_view text, std::size_t width, bool last) {
  out += text;
  if (!last) out.append(width - std::min(width, text_width(text)), ' ');
}

}  // namespace

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string TablePrinter::print(const commands::Table& table) {
  if (table.rows.empty()) return "";
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (wide_ || !table.columns[i].wide) shown.push_back(i);
  const bool headers = headers_ && !printed_;
  printed_ = true;

  std::vector<std::vector<std::string>> cells;
  cells.reserve(table.rows.size());
  widths_.resize(std::max(widths_.size(), shown.size()), kMinWidth);
  std::size_t bytes = 0;
  for (const auto& row : table.rows) {
    auto& line = cells.emplace_back();
    line.reserve(shown.size());
    for (std::size_t k = 0; k < shown.size(); ++k) {
      line.push_back(shown[k] < row.size() ? log::escape_terminal(row[shown[k]]) : std::string());
      widths_[k] = std::max(widths_[k], text_width(line.back()) + kPadding);
    }
  }
  if (headers)
    for (std::size_t k = 0; k < shown.size(); ++k)
      widths_[k] = std::max(widths_[k], text_width(table.columns[shown[k]].name) + kPadding);
  for (const std::size_t width : widths_) bytes += width + 1;

  std::string out;
  out.reserve(bytes * (cells.size() + 1));
  if (headers) {
    for (std::size_t k = 0; k < shown.size(); ++k) put(out, table.columns[shown[k]].name, widths_[k], k + 1 == shown.size());
    out += '\n';
  }
  for (const auto& line : cells) {
    for (std::size_t k = 0; k < line.size(); ++k) put(out, line[k], widths_[k], k + 1 == line.size());
    out += '\n';
  }
  return out;
}

}  // namespace fleetadm::cli
