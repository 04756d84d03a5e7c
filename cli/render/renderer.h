// Prints reports: data on stdout, everything for people on stderr.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/render/errors.h"
#include "cli/render/format.h"
#include "cli/render/table.h"
#include "commands/framework/report.h"

namespace fleetadm::cli {

struct RenderOptions {
  bool headers = true;
  bool quiet = false;
  bool color = false;     // of stderr
  bool terminal = false;  // stdout is one: nothing that steers it may reach it
  /// Where the command has written to: fields for a report of a kind of our own ({"hub": …}), lines for all others, which people
  /// read on stderr. Asked once, by the first report that is printed after a write.
  std::function<Json()> written;
  std::function<std::vector<std::string>()> written_lines;
  /// Completes the commands in a hint or a note (complete_suggestions).
  std::function<std::string(std::string)> complete;
  /// What a command that ended early has done and how it goes on.
  std::function<Unfinished(bool timed_out)> unfinished;
  std::optional<JsonPath> sort_by;
  std::string sort_text;             // the same as it was typed: it may be a column's name
  std::vector<std::string> columns;  // of the table that are shown; empty: the usual ones
  /// The cells of a line of the terminal that a table is printed to; 0 or none: all that is there is printed.
  std::function<std::size_t()> width;
  bool utf8 = true;  // else signs are ASCII
};

class Renderer {
 public:
  using Sink = std::function<void(std::string_view)>;
  Renderer(Format format, RenderOptions options, Sink out, Sink err);

  /// Whether programs read what is printed (json, yaml): errors are documents then.
  bool for_programs() const { return format_.kind == Format::Kind::kJson || format_.kind == Format::Kind::kYaml; }
  /// Whether the output is made from the objects, so that it can say itself where was written to.
  bool prints_objects() const;

  /// Prints one report: its data, notes and failures. An error of the format itself (a jsonpath that does not fit) comes back.
  Status print(commands::Report report);
  /// The last thing that a command prints: errors of its own, or those of its report.
  void print_errors(const std::vector<Error>& errors);

 private:
  Result<std::string> text_of(const commands::Report& report);
  std::string document_of(const commands::Report& report);
  bool tabular() const;
  Status arrange(commands::Report& report);
  void tell_where_written(Json& data);
  Result<std::string> columns_of(const Json& data);

  Format format_;
  RenderOptions options_;
  Sink out_;
  Sink err_;
  TablePrinter tables_;
  bool csv_headers_ = true;  // still to be printed
};

}  // namespace fleetadm::cli
