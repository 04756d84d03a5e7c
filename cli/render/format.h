// -o: which format, parsed before the command runs, so that a wrong one changes nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kubeclient/base/jsonpath.h"

namespace fleetadm::cli {

struct CustomColumn {
  std::string header;
  JsonPath path;
};

struct Format {
  enum class Kind { kTable, kWide, kJson, kYaml, kName, kJsonPath, kColumns, kCsv, kTree };
  Kind kind = Kind::kTable;
  std::optional<JsonPath> jsonpath;
  std::vector<CustomColumn> columns;
};

/// "", "table", "wide", "json", "yaml", "name", "csv", "tree", "jsonpath=T", "jsonpath-file=F", "custom-columns=S",
/// "custom-columns-file=F".
Result<Format> parse_format(const std::string& text);

/// "NAME:.metadata.name,AGE:.metadata.creationTimestamp"
Result<std::vector<CustomColumn>> parse_columns(std::string_view spec);
/// Two lines: headers and paths, separated by spaces.
Result<std::vector<CustomColumn>> parse_columns_file(std::string_view text);

}  // namespace fleetadm::cli
