// AddOnTemplates that commands make from manifests.
#pragma once

#include <string>

#include "commands/framework/command.h"
#include "kubeclient/base/json.h"

namespace fleetadm::commands {

struct TemplateOptions {
  std::string version = "0.0.1";
  bool hub_registration = false;
  std::string cluster_role;
};

/// --hub-registration, as every command has it that makes a template.
void bind_hub_registration(FlagSet& flags, TemplateOptions& options);

/// NAME-VERSION, which renders `manifests` for each cluster with the add-on NAME.
Json addon_template(const std::string& addon, const TemplateOptions& options, Json manifests);

}  // namespace fleetadm::commands
