// Manifests from files, folders and stdin, and the rules that a hub's admission has for them
// (docs/reference/work.md#admission-of-works), checked before anything is sent.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/command.h"
#include "kubeclient/base/json.h"

namespace fleetadm::commands {

struct LoadedManifest {
  Json object;
  std::string file;  // "-" for stdin
  int line = 1;      // where the document starts

  std::string where() const;  // "web.yaml:12"
};

/// -f, as every command has it that takes manifests.
Flag& manifests_flag(FlagSet& flags, std::vector<std::string>& into);

/// `files`: paths of files and folders (their *.yaml, *.yml and *.json, deeper folders too, by name), or "-". Lists are taken
/// apart. kUsage: no such file, or bad YAML, with file, line and column.
Result<std::vector<LoadedManifest>> load_manifests(Context& context, const std::vector<std::string>& files);

/// kUsage: no manifests; a manifest without apiVersion, kind or name, or with generateName; two of the same identity. kInvalid:
/// one of more than 500 KiB (more of them together are split, see core/work/plan/split.h).
Status check_manifests(const std::vector<LoadedManifest>& manifests);

/// spec.workload.manifests.
Json manifest_list(const std::vector<LoadedManifest>& manifests);

}  // namespace fleetadm::commands
