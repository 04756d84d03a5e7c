// The flags that say how clusters may register with a hub: the same of `init` and of `hub run`, which init starts with them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/framework/command.h"
#include "core/registration/hub/awsirsa_driver.h"

namespace fleetadm::commands {

struct HubDriverOptions {
  std::vector<std::string> drivers;  // "csr", "awsirsa"; empty: csr
  std::string hub_cluster_arn;
  std::vector<std::string> auto_approved_arn_patterns;
  std::vector<std::string> aws_resource_tags;  // KEY=VALUE

  bool csr() const;
  bool awsirsa() const;
};

void bind_hub_drivers(FlagSet& flags, HubDriverOptions& options);
Status validate_hub_drivers(const HubDriverOptions& options);
/// What `hub run` is given for them.
std::vector<std::string> hub_driver_args(const HubDriverOptions& options);
/// Nothing without awsirsa. Of options that are valid.
Result<std::optional<registration::hub::AwsIrsaOptions>> awsirsa_of(const HubDriverOptions& options);

}  // namespace fleetadm::commands
