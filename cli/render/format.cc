#include "cli/render/format.h"

#include <sstream>

#include "cli/argv/suggest.h"
#include "commands/framework/files.h"

namespace fleetadm::cli {
namespace {

constexpr std::size_t kMaxTemplate = 1U << 20U;

tl::unexpected<Error> needs_template(const std::string& name) {
  return fail(Category::kUsage, "output format " + name + " needs a template",
              "write for example -o " + name + (name == "jsonpath" ? "='{.items[*].metadata.name}'" : "=NAME:.metadata.name"));
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

}  // namespace

Result<std::vector<CustomColumn>> parse_columns(std::string_view spec) {
  std::vector<CustomColumn> columns;
  while (!spec.empty()) {
    // A comma inside brackets belongs to the path ("[0,1]").
    std::size_t end = 0;
    for (int depth = 0; end < spec.size() && (depth > 0 || spec[end] != ','); ++end) {
      if (spec[end] == '[') ++depth;
      if (spec[end] == ']') --depth;
    }
    const std::string_view part = spec.substr(0, end);
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == part.size())
      return fail(Category::kUsage, "custom-columns: expected HEADER:PATH, found \"" + std::string(part) + "\"",
                  "write for example custom-columns=NAME:.metadata.name");
    FLEETADM_TRY(JsonPath path, JsonPath::parse_path(part.substr(colon + 1)));
    columns.push_back({std::string(part.substr(0, colon)), std::move(path)});
    spec.remove_prefix(std::min(end + 1, spec.size()));
  }
  if (columns.empty())
    return fail(Category::kUsage, "custom-columns: no column given", "write for example custom-columns=NAME:.metadata.name");
  return columns;
}

Result<std::vector<CustomColumn>> parse_columns_file(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::string headers_line, paths_line;
  std::getline(in, headers_line);
  std::getline(in, paths_line);
  const std::vector<std::string> headers = words_of(headers_line);
  const std::vector<std::string> paths = words_of(paths_line);
  if (headers.empty() || headers.size() != paths.size())
    return fail(Category::kUsage, "custom-columns-file: the file needs a line of headers and a line with as many paths");
  std::vector<CustomColumn> columns;
  for (std::size_t i = 0; i < headers.size(); ++i) {
    FLEETADM_TRY(JsonPath path, JsonPath::parse_path(paths[i]));
    columns.push_back({headers[i], std::move(path)});
  }
  return columns;
}

Result<Format> parse_format(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const std::string rest = equals == std::string::npos ? "" : text.substr(equals + 1);
  Format format;
  if (equals == std::string::npos) {
    static constexpr std::pair<std::string_view, Format::Kind> kPlain[] = {
        {"", Format::Kind::kTable},    {"table", Format::Kind::kTable}, {"wide", Format::Kind::kWide},
        {"json", Format::Kind::kJson}, {"yaml", Format::Kind::kYaml},   {"name", Format::Kind::kName},
        {"csv", Format::Kind::kCsv},   {"tree", Format::Kind::kTree}};
    for (const auto& [word, kind] : kPlain) {
      if (word != name) continue;
      format.kind = kind;
      return format;
    }
    if (name == "jsonpath" || name == "custom-columns") return needs_template(name);
  } else if (name == "jsonpath" || name == "jsonpath-file") {
    std::string source = rest;
    if (name == "jsonpath-file") {
      FLEETADM_TRY(source, commands::read_whole_file(rest, kMaxTemplate));
      if (source.empty()) return fail(Category::kUsage, "jsonpath-file: \"" + rest + "\" is empty");
    }
    if (source.empty()) return needs_template(name);
    format.kind = Format::Kind::kJsonPath;
    FLEETADM_TRY(format.jsonpath, JsonPath::parse(source));
    return format;
  } else if (name == "custom-columns") {
    format.kind = Format::Kind::kColumns;
    FLEETADM_TRY(format.columns, parse_columns(rest));
    return format;
  } else if (name == "custom-columns-file") {
    format.kind = Format::Kind::kColumns;
    FLEETADM_TRY(const std::string source, commands::read_whole_file(rest, kMaxTemplate));
    FLEETADM_TRY(format.columns, parse_columns_file(source));
    return format;
  }
  const std::vector<std::string> near =
      nearest(name, {"table", "wide", "json", "yaml", "name", "csv", "tree", "jsonpath", "custom-columns"});
  return fail(
      Category::kUsage,
      "unknown output format \"" + text + "\": must be table, wide, json, yaml, name, csv, tree, jsonpath=… or custom-columns=…",
      near.empty() ? "" : "did you mean " + near.front() + "?");
}

}  // namespace fleetadm::cli
