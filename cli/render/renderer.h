// Prints reports: data on stdout, everything for people on stderr.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/render/format.h"
#include "cli/render/table.h"
#include "commands/framework/report.h"

namespace fleetadm::cli {

struct RenderOptions {
  bool headers = true;
  bool quiet = false;
  bool color = false;     // of stderr
  bool terminal = false;  // stdout is one: nothing that steers it may reach it
  std::optional<JsonPath> sort_by;
};

class Renderer {
 public:
  using Sink = std::function<void(std::string_view)>;
  Renderer(Format format, RenderOptions options, Sink out, Sink err);

  /// Prints one report: its data, notes and failures. An error of the format itself (a jsonpath that does not fit) comes back.
  Status print(commands::Report report);

 private:
  Result<std::string> text_of(const commands::Report& report);
  Result<std::string> columns_of(const Json& data);

  Format format_;
  RenderOptions options_;
  Sink out_;
  Sink err_;
  TablePrinter tables_;
};

}  // namespace fleetadm::cli
