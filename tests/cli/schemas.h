// The documents that fleetadm prints for programs, against docs/schemas.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace fleetadm::cli_cases {

/// The kinds that docs/schemas describes ("Error", "WorkStatus", "WatchEvent", …).
std::set<std::string> schema_kinds();

/// Finds the JSON documents of fleetadm's own kinds in what a command printed and validates each; a field that the schema does
/// not have is a problem, too. Problems also are kinds of `wanted` of which there was no document. Empty: all is well.
std::string schema_problems(const std::string& printed, const std::vector<std::string>& wanted);

}  // namespace fleetadm::cli_cases
