#include "cli/render/renderer.h"

#include "cli/errors.h"
#include "cli/render/sort.h"
#include "kubeclient/base/log.h"
#include "kubeclient/base/yaml.h"

namespace fleetadm::cli {

using commands::Report;
using commands::Table;

Renderer::Renderer(Format format, RenderOptions options, Sink out, Sink err)
    : format_(std::move(format)),
      options_(std::move(options)),
      out_(std::move(out)),
      err_(std::move(err)),
      tables_(format_.kind == Format::Kind::kWide || format_.kind == Format::Kind::kColumns, options_.headers) {}

Result<std::string> Renderer::columns_of(const Json& data) {
  Table table;
  for (const CustomColumn& column : format_.columns) table.columns.push_back({column.header, false});
  auto add = [&](const Json& object) -> Status {
    auto& row = table.rows.emplace_back();
    for (const CustomColumn& column : format_.columns) {
      FLEETADM_TRY(const std::vector<const Json*> values, column.path.find(object));
      std::string cell;
      for (const Json* value : values) cell += (cell.empty() ? "" : ",") + plain_text(*value);
      row.push_back(values.empty() || (values.size() == 1 && values.front()->is_null()) ? "<none>" : cell);
    }
    return {};
  };
  const Json* items = find(data, {"items"});
  if (items != nullptr && items->is_array()) {
    for (const Json& item : *items) FLEETADM_CHECK(add(item));
  } else {
    FLEETADM_CHECK(add(data));
  }
  return tables_.print(table);
}

Result<std::string> Renderer::text_of(const Report& report) {
  std::string text;
  switch (format_.kind) {
    case Format::Kind::kTable:
    case Format::Kind::kWide:
      if (report.table) text = tables_.print(*report.table);
      for (const std::string& line : report.lines) text += log::escape_terminal(line, true) + "\n";
      return text;
    case Format::Kind::kName:
      for (const std::string& name : report.names) text += log::escape_terminal(name) + "\n";
      return text;
    case Format::Kind::kJson: return report.data.is_null() ? text : dump_json_pretty(report.data) + "\n";
    case Format::Kind::kYaml: return report.data.is_null() ? text : dump_yaml(report.data);
    case Format::Kind::kJsonPath: return report.data.is_null() ? text : format_.jsonpath->print(report.data);
    case Format::Kind::kColumns: return report.data.is_null() ? text : columns_of(report.data);
  }
  return text;
}

Status Renderer::print(Report report) {
  if (options_.sort_by) FLEETADM_CHECK(sort_report(report, *options_.sort_by));
  FLEETADM_TRY(std::string text, text_of(report));
  // Tables are escaped cell by cell. Data is given as it is to a program, but a terminal would obey what a server put into it.
  const bool raw =
      format_.kind == Format::Kind::kJson || format_.kind == Format::Kind::kYaml || format_.kind == Format::Kind::kJsonPath;
  if (raw && options_.terminal) text = log::escape_terminal(text, true);
  if (!text.empty()) out_(text);
  const bool tabular = format_.kind == Format::Kind::kTable || format_.kind == Format::Kind::kWide;
  if (tabular && report.table && report.table->rows.empty() && !report.table->empty_text.empty() && !options_.quiet)
    err_(log::escape_terminal(report.table->empty_text) + "\n");
  if (!options_.quiet)
    for (const std::string& note : report.notes) err_(log::escape_terminal(note, true) + "\n");
  for (const Error& failure : report.failures) err_(render_error(failure, options_.color));
  return {};
}

}  // namespace fleetadm::cli
