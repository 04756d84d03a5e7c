// Errors as people read them, and the process's exit codes.
#pragma once

#include <string>

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

/// The one place where categories become exit codes.
int exit_code(Category category);

/// "error: what", a line with the server's reason where there is one, and "hint: the next step" (the error's own, else the
/// category's usual one). Text from elsewhere is escaped. Ends with a newline.
std::string render_error(const Error& error, bool color);

}  // namespace fleetadm::cli
