// Runs one helper program to its end: no shell, bounded output, a deadline.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/result.h"

namespace fleetadm::kube {

struct ProcessOptions {
  std::string command;  // with a slash: that file; else looked up in PATH
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // over the parent's environment
  bool keep_stdin = false;                               // else /dev/null, or:
  std::string input = {};                                // what it reads on stdin; 32 KiB at most
  std::size_t max_output = 1U << 20U;
  Duration timeout = std::chrono::minutes(1);
  std::stop_token stop = {};  // kills it
};

struct ProcessResult {
  int exit_code = 0;  // 128 + n where signal n ended it
  std::string output;
};

/// The executable file `name` in the absolute folders of `path` (as $PATH); empty where there is none. A relative folder is
/// skipped: what lies in the working directory is no program that anybody named.
std::string find_executable(std::string_view name, std::string_view path);
/// The absolute folders of $PATH, each once.
std::vector<std::string> absolute_folders(std::string_view path);

/// Standard error goes to ours. kNotFound where there is no such program, kTimeout or kCancelled (the program was killed),
/// kInvalid where its output passes the limit (killed as well), kUsage where it cannot be run.
Result<ProcessResult> run_process(const ProcessOptions& options);

}  // namespace fleetadm::kube
