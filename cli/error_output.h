// How an error that ends the program is printed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "commands/framework/settings.h"
#include "kubeclient/base/result.h"

namespace fleetadm::cli {

struct ErrorStyle {
  bool color = false;
  bool document = false;  // JSON for programs
  /// Commands in a hint as the caller types them; null: as they are.
  std::function<std::string(std::string)> as_typed = {};
};

bool errors_are_documents(const std::string& output);

/// How to print what is wrong with a command line that could not be parsed: as far as it can be read.
ErrorStyle style_of(const std::vector<std::string>& words, const Result<commands::Settings>& settings);

/// Prints on stderr; answers the exit code.
int report_error(const Error& error, const ErrorStyle& style);

/// What other tools call this is answered with what it is called here.
Error with_foreign_hint(Error error, const std::vector<std::string>& words);

/// Where the help of a command or group ("get clusters") is, for an error of usage without a hint.
Error with_help_hint(Error error, const std::string& path);

}  // namespace fleetadm::cli
