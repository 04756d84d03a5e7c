// Where the pods that init and join install run, and by which proxy they reach the outside.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/command.h"
#include "core/install/pod_settings.h"

namespace fleetadm::commands {

struct PodOptions {
  std::vector<std::string> node_selector;  // KEY=VALUE
  std::vector<std::string> tolerations;    // KEY[=VALUE][:EFFECT]
  std::string priority_class;
  std::vector<std::string> requests;  // RESOURCE=QUANTITY
  std::vector<std::string> limits;    // RESOURCE=QUANTITY
  std::string http_proxy;
  std::string https_proxy;
  std::string no_proxy;
};

/// `whose`: "the agent"
void pod_flags(FlagSet& flags, PodOptions& options, const std::string& whose);
Status validate_pod_options(const PodOptions& options);
install::PodSettings pod_settings(const PodOptions& options);

/// kUsage where it is no URL of an http, https or socks5 proxy; empty is fine.
Status check_proxy_url(const std::string& flag, const std::string& url);

}  // namespace fleetadm::commands
