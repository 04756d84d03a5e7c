// What an AddOnDeploymentConfig says, as words of the command line.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "commands/framework/command.h"

namespace fleetadm::commands {

struct ConfigValues {
  std::vector<std::string> variables;      // KEY=VALUE
  std::vector<std::string> node_selector;  // KEY=VALUE
  std::vector<std::string> tolerations;    // KEY[=VALUE][:EFFECT]
  std::vector<std::string> registries;     // SOURCE=MIRROR
  std::string http_proxy;
  std::string https_proxy;
  std::string no_proxy;
  std::string install_namespace;

  bool none() const;
};

/// The flags; the variables are arguments.
void bind_config_values(FlagSet& flags, ConfigValues& values);
/// kUsage names the word that is wrong.
Status validate_config_values(const ConfigValues& values);
/// Variables and registries are replaced one by one, a node selector and tolerations as a whole.
void set_config_values(Json& spec, const ConfigValues& values);

/// What unset can take away beside variables.
std::vector<std::string> config_fields();
/// kNotFound: there is no such variable.
Status unset_config_values(Json& spec, const std::vector<std::string>& variables, const std::vector<std::string>& fields);

/// "variable LEVEL" → "debug", in the order of the words above.
std::vector<std::pair<std::string, std::string>> told_config(const Json& spec);

}  // namespace fleetadm::commands
