#include "commands/cluster/metadata.h"

#include "kubeclient/base/names.h"

namespace fleetadm::commands {
namespace {

std::string noun(MetadataKind kind) { return kind == MetadataKind::kLabel ? "label" : "annotation"; }
std::string an(MetadataKind kind) { return kind == MetadataKind::kLabel ? "a label" : "an annotation"; }

}  // namespace

Result<MetadataChanges> parse_metadata_changes(MetadataKind kind, const std::vector<std::string>& words) {
  MetadataChanges changes;
  for (const std::string& word : words) {
    const std::size_t equal = word.find('=');
    const std::string key = word.substr(0, equal == std::string::npos ? word.size() - 1 : equal);
    if (equal == std::string::npos && !word.ends_with('-'))
      return fail(Category::kUsage, "\"" + word + "\" is not " + an(kind), "write KEY=VALUE to set it, or KEY- to remove it");
    if (!qualified_name_problems(key).empty())
      return fail(Category::kUsage, "\"" + key + "\" is not a valid " + noun(kind) + " key");
    std::optional<std::string> value;
    if (equal != std::string::npos) value = word.substr(equal + 1);
    if (value && kind == MetadataKind::kLabel && !label_value_problems(*value).empty())
      return fail(Category::kUsage, "\"" + *value + "\" is not a valid label value");
    if (!changes.emplace(key, value).second)
      return fail(Category::kUsage, noun(kind) + " \"" + key + "\" is given twice", "give each " + noun(kind) + " once");
  }
  return changes;
}

Status split_metadata_args(MetadataKind kind, const std::vector<std::string>& args, std::vector<std::string>& names,
                           std::vector<std::string>& changes) {
  for (const std::string& arg : args) {
    const bool change = arg.find('=') != std::string::npos || arg.ends_with('-');
    if (!change && !changes.empty())
      return fail(Category::kUsage, "\"" + arg + "\" is not " + an(kind),
                  "names of clusters come before the " + noun(kind) + "s");
    (change ? changes : names).push_back(arg);
  }
  if (changes.empty())
    return fail(Category::kUsage, "no " + noun(kind) + "s are given", "write KEY=VALUE to set one, or KEY- to remove it");
  return {};
}

Status edit_metadata(MetadataKind kind, Json& cluster, const MetadataChanges& changes, bool overwrite) {
  const std::string field = noun(kind) + "s";
  for (const auto& [key, value] : changes) {
    const Json& present = object_at(cluster, {"metadata", field});
    const auto found = present.find(key);
    if (!value) {
      if (found != present.end()) erase_at(cluster, {"metadata", field, key});
      continue;
    }
    if (found != present.end() && *found != Json(*value) && !overwrite) {
      return fail(Category::kConflict, noun(kind) + " " + key + " already has the value \"" + str(*found, {}) + "\"",
                  "to change it, add --overwrite");
    }
    at_or_make(cluster, {"metadata", field, key}) = *value;
  }
  return {};
}

}  // namespace fleetadm::commands
