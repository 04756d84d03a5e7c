#include "commands/framework/hub_side.h"

namespace fleetadm::commands {

void bind_hub_side(FlagSet& flags, HubSide& side, const std::string& purpose) {
  flags.text(&side.context, "hub-context", "Context of the hub" + purpose).complete = Complete::kContexts;
  auto& kubeconfig = flags.text(&side.kubeconfig, "hub-kubeconfig", "Kubeconfig of the hub, if it is a different file");
  kubeconfig.value_name = "FILE";
  kubeconfig.complete = Complete::kFiles;
}

Result<std::optional<kube::RestConfig>> hub_side(Context& context, const HubSide& side) {
  if (!side.named()) return std::nullopt;
  kube::ConfigOverrides overrides = context.global().config;
  overrides.context = side.context;
  if (!side.kubeconfig.empty()) overrides.kubeconfig = side.kubeconfig;
  FLEETADM_TRY(auto config, context.rest_config(overrides));
  return config;
}

}  // namespace fleetadm::commands
