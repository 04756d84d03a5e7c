// What holds for many commands: exit codes, reasons of errors, environment variables, output formats, access to clusters. Help,
// manual and documentation say it by these tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "commands/framework/command.h"

namespace fleetadm::commands {

struct ExitCodeText {
  int code = 0;
  std::string_view meaning;
};
const std::vector<ExitCodeText>& exit_code_texts();

struct VariableText {
  std::string names;  // "HTTPS_PROXY, NO_PROXY"
  std::string meaning;
};
/// Those that are not defaults of flags first, then those of the configuration file's keys.
std::vector<VariableText> variable_texts();

Topic cluster_access_topic();
Topic exit_codes_topic();
Topic errors_topic();
Topic environment_topic();
Topic formatting_topic();

}  // namespace fleetadm::commands
