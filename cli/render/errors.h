// Errors as people and programs read them, and the process's exit codes.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/report.h"
#include "kubeclient/base/result.h"

namespace fleetadm::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitCancelled = 2;
inline constexpr int kExitPartial = 3;
inline constexpr int kExitAuth = 4;
inline constexpr int kExitNotFound = 5;
inline constexpr int kExitTimeout = 6;
inline constexpr int kExitUsage = 64;
inline constexpr int kExitBrokenPipe = 141;  // what a shell reports for SIGPIPE

/// The one place where categories become exit codes.
int exit_code(Category category);
/// A command's exit code: its own; cancelled where a failure is; partial where others succeeded; else the code that all failures
/// share, or kExitFailure.
int exit_code(const commands::Report& report);

/// The next step: the error's own hint, else the category's usual one; never what the message says already.
std::string hint_of(const Error& error);
/// Time or a person ended the command before it was through: it can be run again.
bool is_unfinished(const Error& error);

/// What a command that ended early has done, and how it goes on.
struct Unfinished {
  std::vector<std::string> done;  // "placements: 1 created"
  std::string resume;             // a command line; empty: none that can be printed
};

/// "error: what", a line with the server's reason where there is one, and "hint: the next step" (the error's own, else the
/// category's usual one). Text from elsewhere is escaped. Ends with a newline.
std::string render_error(const Error& error, bool color);
/// The same with another hint; empty: none.
std::string render_error(const Error& error, const std::string& hint, bool color);
/// "done: …" and "hint: to continue, run: …"; empty where there is nothing to tell.
std::string render_unfinished(const Unfinished& unfinished, bool color);
/// The error as a document of kind Error (docs/machine-output.md), `unfinished` where it is.
Json error_document(const Error& error, const std::string& hint, const Unfinished& unfinished = {});

}  // namespace fleetadm::cli
