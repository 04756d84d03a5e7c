// What a command answers: data. A renderer of cli/ prints it; `-o json` prints the same report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::commands {

struct Column {
  std::string name;   // "NAME", upper case
  bool wide = false;  // only with -o wide
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // a cell a column; unescaped (the renderer escapes)
  std::string empty_text;                      // said on stderr if there are no rows
};

inline constexpr int kPartialExitCode = 3;  // some targets failed, others did not

struct Report {
  /// What -o json, yaml, jsonpath and custom-columns print: an object or a List of the Kubernetes kind, or the command's own
  /// shape ({"kind": "AcceptReport", …}). Null: the command has nothing to say in those formats.
  Json data;
  std::optional<Table> table;      // what -o table|wide prints; rows match data.items one to one where both are lists
  std::vector<std::string> lines;  // what -o table prints where there is no table ("managedcluster c1 accepted")
  /// What -o tree prints: paths from a root to a leaf; equal beginnings are one branch (only of commands with Command::tree).
  std::vector<std::vector<std::string>> branches;
  std::vector<std::string> names;  // what -o name prints: "managedcluster.cluster.open-cluster-management.io/c1"
  // Notes and empty texts are sentences: a capital first, a full stop last unless the note ends with a command to paste. Result
  // lines, errors and hints begin in lower case and have no full stop.
  std::vector<std::string> notes;  // for people, on stderr, not with --quiet: what to do next
  /// Of single clusters or objects: printed as errors. The exit code is 3 where lines, names or rows tell of others that
  /// succeeded, else that of the failures.
  std::vector<Error> failures;
  int exit_code = 0;  // the command's own code, instead of what follows from the failures
  /// What a watch saw (-w): the data is one object and this is what happened to it.
  enum class Event { kNone, kAdded, kModified, kDeleted };
  Event event = Event::kNone;
};

}  // namespace fleetadm::commands
