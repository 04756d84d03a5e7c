// Changes of a cluster's labels or annotations, as words of a command line: KEY=VALUE sets, KEY- removes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::commands {

enum class MetadataKind { kLabel, kAnnotation };

using MetadataChanges = std::map<std::string, std::optional<std::string>>;  // no value: removed

/// kUsage: a word of another form, an invalid key or value, or a key given twice.
Result<MetadataChanges> parse_metadata_changes(MetadataKind kind, const std::vector<std::string>& words);

/// Arguments are names of clusters up to the first change. kUsage: a name behind a change, or no changes.
Status split_metadata_args(MetadataKind kind, const std::vector<std::string>& args, std::vector<std::string>& names,
                           std::vector<std::string>& changes);

/// kConflict: a key has another value, and `overwrite` is not set.
Status edit_metadata(MetadataKind kind, Json& cluster, const MetadataChanges& changes, bool overwrite);

}  // namespace fleetadm::commands
