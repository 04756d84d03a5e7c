#include "cli/render/csv.h"

namespace fleetadm::cli {
namespace {

void put_field(std::string& out, std::string_view text) {
  const bool edges = !text.empty() && (text.front() == ' ' || text.back() == ' ');
  if (!edges && text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  out += '"';
}

}  // namespace

std::string csv_of(const commands::Table& table, bool headers) {
  std::string out;
  const std::size_t count = table.columns.size();
  if (headers) {
    for (std::size_t k = 0; k < count; ++k) {
      if (k > 0) out += ',';
      put_field(out, table.columns[k].name);
    }
    out += '\n';
  }
  for (const auto& row : table.rows) {
    for (std::size_t k = 0; k < count; ++k) {
      if (k > 0) out += ',';
      put_field(out, k < row.size() ? std::string_view(row[k]) : std::string_view());
    }
    out += '\n';
  }
  return out;
}

}  // namespace fleetadm::cli
