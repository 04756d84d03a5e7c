#include "tests/cli/schemas.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "core/apimachinery/structural.h"
#include "kubeclient/base/json.h"
#include "tests/support/source_folder.h"

namespace fleetadm::cli_cases {
namespace {

using apimachinery::Structural;

const std::filesystem::path& folder() {
  static const std::filesystem::path path = std::filesystem::path(testkit::source_folder()) / "docs/schemas";
  return path;
}

std::shared_ptr<const Structural> schema_of(const std::string& kind, std::string& problem) {
  std::ifstream in(folder() / (kind + ".json"));
  std::ostringstream text;
  text << in.rdbuf();
  const auto parsed = parse_json(text.str());
  if (!parsed) {
    problem += "there is no schema of " + kind + "\n";
    return nullptr;
  }
  auto compiled = Structural::compile(*parsed, kind);
  if (compiled) return *compiled;
  problem += kind + ".json: " + apimachinery::invalid_message(kind, "schema", compiled.error()) + "\n";
  return nullptr;
}

// Documents over several lines, as they are printed, begin and end with a brace in the first column.
std::vector<Json> documents_in(const std::string& printed) {
  std::vector<Json> documents;
  std::string open;
  std::istringstream in(printed);
  for (std::string line; std::getline(in, line);) {
    if (open.empty() && !line.starts_with('{')) continue;
    open += line + "\n";
    const bool whole = line == "}" || (line.starts_with('{') && line.ends_with('}'));
    if (!whole) continue;
    if (auto parsed = parse_json(open)) documents.push_back(std::move(*parsed));
    open.clear();
  }
  return documents;
}

std::string kind_of(const Json& document) {
  if (str(document, {"apiVersion"}).starts_with("fleetadm.io/")) return str(document, {"kind"});
  return document.contains("type") && document.contains("object") ? "WatchEvent" : "";
}

}  // namespace

std::set<std::string> schema_kinds() {
  std::set<std::string> kinds;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) kinds.insert(entry.path().stem().string());
  return kinds;
}

std::string schema_problems(const std::string& printed, const std::vector<std::string>& wanted) {
  std::string problem;
  std::set<std::string> seen;
  std::map<std::string, std::shared_ptr<const Structural>> schemas;
  for (const Json& document : documents_in(printed)) {
    const std::string kind = kind_of(document);
    if (kind.empty()) continue;
    if (seen.insert(kind).second) schemas[kind] = schema_of(kind, problem);
    if (schemas[kind] == nullptr) continue;
    if (const auto causes = schemas[kind]->validate(document, nullptr); !causes.empty())
      problem += apimachinery::invalid_message(kind, "printed", causes) + "\n";
    Json copy = document;
    std::vector<std::string> unknown;
    if (const Status pruned = schemas[kind]->prune(copy, unknown); !pruned)
      problem += kind + ": " + pruned.error().message + "\n";
    for (const std::string& field : unknown) problem += kind + ".json does not have " + field + "\n";
  }
  for (const std::string& kind : wanted) {
    if (!seen.contains(kind)) problem += "no " + kind + " was printed\n";
  }
  return problem;
}

}  // namespace fleetadm::cli_cases
