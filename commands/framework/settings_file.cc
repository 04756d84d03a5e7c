#include "commands/framework/settings_file.h"

#include <algorithm>
#include <vector>
#include <yaml-cpp/yaml.h>

#include "commands/framework/settings.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/config/files.h"

namespace fleetadm::commands {
namespace {

constexpr std::size_t kMaxConfig = 256U << 10U;
constexpr std::string_view kAliases = "aliases";

tl::unexpected<Error> at_line(const std::string& path, int line, Error error) {
  error.category = Category::kUsage;
  if (error.hint.empty()) error.hint = "correct that file; \"fleetadm help configuration\" describes its keys";
  return fail(error.wrap(path + ":" + std::to_string(line)));
}

Error usage(std::string message) {
  Error error;
  error.category = Category::kUsage;
  error.message = std::move(message);
  return error;
}

int line_of(const YAML::Node& node) { return node.Mark().line + 1; }

std::string type_name(const SettingKey* key) {
  if (key == nullptr || key->type == SettingType::kText) return "text";
  if (key->type == SettingType::kBoolean) return "true or false";
  if (key->type == SettingType::kDuration) return "a duration like 30s";
  if (key->type == SettingType::kList) return "a list of texts";
  return "one of the allowed words";
}

/// The members of a mapping by name, each key once.
Result<std::vector<std::pair<std::string, YAML::Node>>> members_of(const YAML::Node& map, const std::string& path,
                                                                   std::map<std::string, int>& lines) {
  std::vector<std::pair<std::string, YAML::Node>> members;
  for (const auto& member : map) {
    const int line = line_of(member.first);
    if (!member.first.IsScalar()) return at_line(path, line, usage("a key must be text"));
    const std::string& name = member.first.Scalar();
    if (!lines.emplace(name, line).second) return at_line(path, line, usage("key \"" + name + "\" is given twice"));
    members.emplace_back(name, member.second);
  }
  return members;
}

Status add_entry(ConfigFile& file, const std::string& name, const YAML::Node& node, int line) {
  const auto key = find_setting(name);
  if (!key) return at_line(file.path, line, key.error());
  const bool list = *key != nullptr && (*key)->type == SettingType::kList;
  if (list ? !node.IsSequence() || node.size() == 0 : !node.IsScalar())
    return at_line(file.path, line, usage(name + " must be " + type_name(*key)));
  Json entry = Json::array();
  for (const YAML::Node& item : list ? std::vector<YAML::Node>(node.begin(), node.end()) : std::vector<YAML::Node>{node}) {
    const int item_line = list ? line_of(item) : line;
    if (!item.IsScalar()) return at_line(file.path, item_line, usage("an item of " + name + " must be text"));
    auto value = setting_value(*key, item.Scalar());
    if (!value) return at_line(file.path, item_line, value.error().wrap(name));
    if (!list) {
      entry = std::move(*value);
      break;
    }
    entry.insert(entry.end(), value->begin(), value->end());
  }
  file.entries.emplace(name, ConfigEntry{std::move(entry), line});
  return {};
}

Status add_document(ConfigFile& file, const YAML::Node& root) {
  if (root.IsNull()) return {};
  if (!root.IsMap()) return at_line(file.path, line_of(root), usage("the file must be a mapping of keys to values"));
  std::map<std::string, int> lines;
  FLEETADM_TRY(const auto members, members_of(root, file.path, lines));
  for (const auto& [name, node] : members) {
    const int line = lines.at(name);
    if (name != kAliases) {
      FLEETADM_CHECK(add_entry(file, name, node, line));
      continue;
    }
    if (!node.IsMap()) return at_line(file.path, line, usage("aliases must be a mapping of names to commands"));
    std::map<std::string, int> alias_lines;
    FLEETADM_TRY(const auto aliases, members_of(node, file.path, alias_lines));
    for (const auto& [alias, command] : aliases)
      FLEETADM_CHECK(add_entry(file, std::string(kAliasPrefix) + alias, command, alias_lines.at(alias)));
  }
  return {};
}

/// The lines of a file, each with its line break.
std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  if (!lines.empty() && lines.back().back() != '\n') lines.back() += '\n';
  return lines;
}

bool is_blank_or_comment(const std::string& line) {
  const std::size_t first = line.find_first_not_of(" \t\r\n");
  return first == std::string::npos || line[first] == '#';
}

/// Where in the lines a member of a mapping stands (0-based, one past its last).
struct LineRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool found = false;
};

/// The member `name` of `map`, whose lines end at `limit`; not found: the empty range where it would be added.
LineRange range_of(const YAML::Node& map, std::string_view name, const std::vector<std::string>& lines, std::size_t limit) {
  LineRange range{limit, limit, false};
  std::size_t begin = 0;
  for (const auto& member : map) {
    const auto line = static_cast<std::size_t>(member.first.Mark().line);
    if (range.found && range.end == limit) range.end = line;
    if (member.first.Scalar() != name) continue;
    range = {line, limit, true};
    begin = line + 1;
  }
  // Comments and blank lines before the next member are the next one's.
  while (range.end > begin && range.end > 0 && is_blank_or_comment(lines[range.end - 1])) --range.end;
  if (!range.found) range.begin = range.end;
  return range;
}

void replace_lines(std::vector<std::string>& lines, const LineRange& range, const std::string& text) {
  const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(range.begin);
  const auto at = lines.erase(begin, lines.begin() + static_cast<std::ptrdiff_t>(range.end));
  if (!text.empty()) lines.insert(at, text);
}

void edit_lines(std::vector<std::string>& lines, const YAML::Node& root, const std::string& key,
                const std::optional<Json>& value) {
  const bool alias = key.starts_with(kAliasPrefix);
  const std::string name = alias ? key.substr(kAliasPrefix.size()) : key;
  const LineRange top = range_of(root, alias ? std::string(kAliases) : key, lines, lines.size());
  if (!alias || !top.found) {
    Json document = {{name, value.value_or(Json())}};
    if (alias) document = {{std::string(kAliases), document}};
    replace_lines(lines, top, value ? dump_yaml(document) : "");
    return;
  }
  const YAML::Node aliases = root[std::string(kAliases)];
  const bool only = aliases.size() == 1 && aliases[name].IsDefined();
  if (only && !value) {
    replace_lines(lines, top, "");
    return;
  }
  const auto indent = static_cast<std::size_t>(aliases.begin()->first.Mark().column);
  replace_lines(lines, range_of(aliases, name, lines, top.end),
                value ? std::string(indent, ' ') + dump_yaml(Json{{name, *value}}) : "");
}

bool same_entries(const ConfigFile& a, const ConfigFile& b) {
  return std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && x.second.value == y.second.value; });
}

}  // namespace

Result<ConfigFile> parse_config(std::string_view text, const std::string& path) {
  ConfigFile file;
  file.path = path;
  file.exists = true;
  // yaml-cpp knows the line of every value, but takes a quote that is never closed: the lines after it would be lost in it.
  if (const auto strict = parse_yaml_documents(text); !strict) {
    Error error = strict.error().wrap(path);
    error.category = Category::kUsage;
    return fail(error.with_hint("correct that file; \"fleetadm help configuration\" describes its keys"));
  }
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.size() > 1) return at_line(path, line_of(documents[1]), usage("the file must be one document"));
    if (!documents.empty()) FLEETADM_CHECK(add_document(file, documents.front()));
  } catch (const YAML::Exception& error) {
    return at_line(path, error.mark.line + 1, usage("not valid YAML: " + error.msg));
  }
  return file;
}

Result<ConfigFile> read_config(const std::string& path) {
  ConfigFile none;
  none.path = path;
  if (path.empty()) return none;
  auto text = kube::read_file(path, kMaxConfig);
  if (!text && text.error().category == Category::kNotFound) return none;
  if (!text) return fail(text.error());
  return parse_config(*text, path);
}

Result<std::string> edit_config(std::string_view text, const std::string& path, const std::string& key,
                                const std::optional<Json>& value) {
  FLEETADM_TRY(ConfigFile wanted, parse_config(text, path));
  wanted.entries.erase(key);
  if (value) wanted.entries[key].value = *value;
  std::vector<std::string> lines = split_lines(text);
  try {
    edit_lines(lines, YAML::Load(std::string(text)), key, value);
  } catch (const YAML::Exception& error) {
    return at_line(path, error.mark.line + 1, usage("not valid YAML: " + error.msg));
  }
  std::string edited;
  for (const std::string& line : lines) edited += line;
  // People may have written it in any of YAML's ways: what was edited counts only if it reads back as meant.
  const auto result = parse_config(edited, path);
  if (!result || !same_entries(*result, wanted)) {
    return fail(Category::kConflict, path + " is written in a way that cannot be edited automatically",
                "edit the file by hand, or write one key per line");
  }
  return edited;
}

Result<bool> change_config(const std::string& path, const std::string& key, const std::optional<Json>& value, bool write) {
  std::optional<kube::FileLock> lock;
  if (write) {
    FLEETADM_TRY(kube::FileLock taken, kube::FileLock::take(path));
    lock.emplace(std::move(taken));
  }
  auto text = kube::read_file(path, kMaxConfig);
  if (!text && text.error().category != Category::kNotFound) return fail(text.error());
  const std::string before = text ? *text : std::string();
  FLEETADM_TRY(const ConfigFile file, parse_config(before, path));
  const auto entry = file.entries.find(key);
  if (value ? entry != file.entries.end() && entry->second.value == *value : entry == file.entries.end()) return false;
  FLEETADM_TRY(const std::string edited, edit_config(before, path, key, value));
  if (write) FLEETADM_CHECK(kube::write_file(path, edited));
  return true;
}

}  // namespace fleetadm::commands
