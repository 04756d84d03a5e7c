#include "cli/render/renderer.h"

#include <algorithm>
#include <utility>

#include "cli/render/columns.h"
#include "cli/render/csv.h"
#include "cli/render/machine.h"
#include "cli/render/sort.h"
#include "cli/render/tree.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/log.h"
#include "kubeclient/base/plural.h"
#include "kubeclient/base/yaml.h"

namespace fleetadm::cli {

using commands::Report;
using commands::Table;

namespace {

bool says_how_to_continue(const Error& error) {
  constexpr std::string_view kWords = "to continue";
  return error.hint.find(kWords) != std::string::npos || error.message.find(kWords) != std::string::npos;
}

// What happened to each row and name of a watch.
void mark_event(Report& report) {
  if (report.event == Report::Event::kNone) return;
  if (report.table) {
    report.table->columns.push_back({"EVENT", false});
    for (auto& row : report.table->rows) row.emplace_back(to_string(report.event));
  }
  if (report.event != Report::Event::kDeleted) return;
  for (std::string& name : report.names) name += " deleted";
}

constexpr std::size_t kNamedClusters = 5;

/// Errors that differ in their cluster alone as one, which names the clusters.
std::vector<Error> by_cluster(const std::vector<Error>& errors) {
  std::vector<Error> told;
  std::vector<std::vector<std::string>> clusters;
  for (const Error& error : errors) {
    const auto same = std::find_if(told.begin(), told.end(), [&](const Error& other) {
      return !error.cluster.empty() && !other.cluster.empty() && error.message == other.message && error.hint == other.hint &&
             error.code == other.code && error.reason == other.reason && error.category == other.category;
    });
    if (same == told.end()) {
      told.push_back(error);
      clusters.push_back({error.cluster});
    } else {
      std::vector<std::string>& names = clusters[static_cast<std::size_t>(same - told.begin())];
      if (std::find(names.begin(), names.end(), error.cluster) == names.end()) names.push_back(error.cluster);
    }
  }
  for (std::size_t i = 0; i < told.size(); ++i) {
    std::vector<std::string>& names = clusters[i];
    const std::size_t more = names.size() - std::min(names.size(), kNamedClusters);
    names.resize(names.size() - more);
    told[i].cluster = joined(names, ", ");
    if (more > 0) told[i].cluster += " and " + pluralize(more, "more cluster");
  }
  return told;
}

}  // namespace

Renderer::Renderer(Format format, RenderOptions options, Sink out, Sink err)
    : format_(std::move(format)),
      options_(std::move(options)),
      out_(std::move(out)),
      err_(std::move(err)),
      tables_(format_.kind == Format::Kind::kWide || format_.kind == Format::Kind::kColumns, options_.headers),
      csv_headers_(options_.headers) {}

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

bool Renderer::prints_objects() const {
  return !tabular() && format_.kind != Format::Kind::kName && format_.kind != Format::Kind::kTree;
}

bool Renderer::tabular() const {
  return format_.kind == Format::Kind::kTable || format_.kind == Format::Kind::kWide || format_.kind == Format::Kind::kCsv;
}

// A document, or one event per line (YAML: per document) of a watch.
std::string Renderer::document_of(const Report& report) {
  const bool json = format_.kind == Format::Kind::kJson;
  if (report.event == Report::Event::kNone) return json ? dump_json_pretty(report.data) + "\n" : dump_yaml(report.data);
  std::string text;
  const auto add = [&](const Json& object) {
    const Json event = watch_event(report.event, object);
    text += json ? dump_json(event) + "\n" : "---\n" + dump_yaml(event);
  };
  if (str(report.data, {"kind"}) == "List") {
    for (const Json& item : list_at(report.data, {"items"})) add(item);
  } else {
    add(report.data);
  }
  return text;
}

Result<std::string> Renderer::text_of(const Report& report) {
  std::string text;
  switch (format_.kind) {
    case Format::Kind::kTable:
    case Format::Kind::kWide:
      if (report.table) {
        const bool cut = format_.kind == Format::Kind::kTable && options_.width;
        text = tables_.print(*report.table, cut ? options_.width() : 0, options_.utf8 ? "…" : "...");
      }
      for (const std::string& line : report.lines) text += log::escape_terminal(line) + "\n";
      return text;
    case Format::Kind::kCsv:
      if (report.table) text = csv_of(*report.table, std::exchange(csv_headers_, false));
      return text;
    case Format::Kind::kTree: return tree_of(report.branches, options_.utf8);
    case Format::Kind::kName:
      for (const std::string& name : report.names) text += log::escape_terminal(name) + "\n";
      return text;
    case Format::Kind::kJson:
    case Format::Kind::kYaml: return report.data.is_null() ? text : document_of(report);
    case Format::Kind::kJsonPath: return report.data.is_null() ? text : format_.jsonpath->print(report.data);
    case Format::Kind::kColumns: return report.data.is_null() ? text : columns_of(report.data);
  }
  return text;
}

// Objects of Kubernetes are printed as they are, so that they can be applied again: the line goes to stderr then.
void Renderer::tell_where_written(Json& data) {
  if (!prints_objects() || !options_.written) return;
  const Json where = options_.written();
  if (where.empty()) return;
  if (is_own_kind(data)) {
    data.update(where);
  } else if (!options_.quiet) {
    for (const std::string& line : options_.written_lines()) err_(log::escape_terminal(line) + "\n");
  }
  options_.written = nullptr;
}

void Renderer::print_errors(const std::vector<Error>& errors) {
  const bool ended_early = std::any_of(errors.begin(), errors.end(), is_unfinished);
  const bool timed_out =
      std::any_of(errors.begin(), errors.end(), [](const Error& e) { return e.category == Category::kTimeout; });
  Unfinished left = ended_early && options_.unfinished ? options_.unfinished(timed_out) : Unfinished{};
  // A command that knows a better way on than the same line again has said it.
  if (std::any_of(errors.begin(), errors.end(), says_how_to_continue)) left.resume.clear();
  const auto hint_for = [&](const Error& error) {
    // How it goes on is told below: a usual hint that says to try again would be a second answer.
    std::string hint = is_unfinished(error) && error.hint.empty() && !left.resume.empty() ? "" : hint_of(error);
    return options_.complete ? options_.complete(std::move(hint)) : hint;
  };
  if (for_programs()) {
    for (const Error& error : errors) {
      Json document = error_document(error, hint_for(error), is_unfinished(error) ? left : Unfinished{});
      tell_where_written(document);
      err_(dump_json(document) + "\n");
    }
    return;
  }
  // People read each failure, and each hint, once.
  const std::vector<Error> told = by_cluster(errors);
  for (std::size_t i = 0; i < told.size(); ++i) {
    std::string hint = hint_for(told[i]);
    if (i + 1 < told.size() && hint == hint_for(told[i + 1])) hint.clear();
    err_(render_error(told[i], hint, options_.color));
  }
  err_(render_unfinished(left, options_.color));
}

// The order of the rows, and which columns are shown.
Status Renderer::arrange(Report& report) {
  if (options_.sort_by && !sort_by_column(report, options_.sort_text)) FLEETADM_CHECK(sort_report(report, *options_.sort_by));
  if (tabular() && report.table && !options_.columns.empty()) return choose_columns(*report.table, options_.columns);
  return {};
}

Status Renderer::print(Report report) {
  mark_event(report);
  add_api_version(report.data);
  if (!report.data.is_null() || report.failures.empty()) tell_where_written(report.data);
  FLEETADM_CHECK(arrange(report));
  FLEETADM_TRY(std::string text, text_of(report));
  // Tables are escaped cell by cell. Data is given as it is to a program, but a terminal would obey what a server put into it.
  const bool raw = format_.kind == Format::Kind::kJson || format_.kind == Format::Kind::kYaml ||
                   format_.kind == Format::Kind::kJsonPath || format_.kind == Format::Kind::kCsv;
  if (raw && options_.terminal) text = log::escape_terminal(text, true);
  if (!text.empty()) out_(text);
  const bool for_people = tabular() || format_.kind == Format::Kind::kTree;
  if (for_people && report.table && report.table->rows.empty() && !report.table->empty_text.empty() && !options_.quiet)
    err_(log::escape_terminal(report.table->empty_text) + "\n");
  if (format_.kind == Format::Kind::kCsv && !report.table && !report.lines.empty() && !options_.quiet)
    err_("This command has no table, and -o csv prints nothing else.\n");
  if (!options_.quiet)
    for (const std::string& note : report.notes)
      err_(log::escape_terminal(options_.complete ? options_.complete(note) : note, true) + "\n");
  print_errors(report.failures);
  return {};
}

}  // namespace fleetadm::cli
