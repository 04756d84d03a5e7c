// Files made from the registry: man pages, completion scripts, the tables in README.md and docs. Committed; a test fails when
// they are stale.
#pragma once

#include <map>
#include <string>

#include "commands/framework/command.h"

namespace fleetadm::cli {

/// Relative path ("man/fleetadm-get-clusters.1", "completions/fleetadm.bash") → content.
std::map<std::string, std::string> generated_files(const commands::Registry& registry);

/// The README's table of commands, in Markdown.
std::string command_table(const commands::Registry& registry);

/// The table of reasons of errors in docs/machine-output.md.
std::string reason_table();

/// `text` with what stands between the lines "<!-- NAME: begin -->" and "<!-- NAME: end -->" replaced by the table; unchanged
/// where the marks are missing.
std::string with_table(const std::string& text, const std::string& name, const std::string& table);

/// Writes all files under `folder` (removing man pages of commands that are no more) and updates the tables in README.md and
/// docs/machine-output.md there.
Status write_generated(const commands::Registry& registry, const std::string& folder);

}  // namespace fleetadm::cli
