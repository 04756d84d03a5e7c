// Leveled log lines on stderr. A line never holds a secret: callers pass values through redact() where a value came from a
// header, a kubeconfig or a Secret. The level is the process's own (-v).
#pragma once

#include <string>
#include <string_view>

namespace fleetadm::log {

/// 0 warnings and errors, 1–2 progress of controllers, 6 one line a request, 7 headers, 8 and 9 bodies (redacted).
void set_verbosity(int level);
int verbosity();
inline bool enabled(int level) { return verbosity() >= level; }

/// Lines in klog's shape without its file column: "I1121 19:20:01.123456 component: message". Control characters are escaped.
void error(std::string_view component, std::string_view message);
void warn(std::string_view component, std::string_view message);
void info(int level, std::string_view component, std::string_view message);

/// The text with control characters (terminal escapes, newlines when `keep_newlines` is false) made visible as \x1b etc.
std::string escape_terminal(std::string_view text, bool keep_newlines = false);
/// "<redacted>" for a non-empty value.
std::string redact(std::string_view value);
/// A JSON body with the values of Secret data, tokens, kubeconfigs and certificate keys replaced. Not JSON: its size only.
std::string redact_body(std::string_view body);

}  // namespace fleetadm::log
