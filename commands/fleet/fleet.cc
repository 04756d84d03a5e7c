#include "commands/fleet/fleet.h"

namespace fleetadm::commands {

void register_fleet(Registry& registry) {
  register_init(registry);
  register_token(registry);
  register_token_create(registry);
  register_token_list(registry);
  register_token_revoke(registry);
  register_join(registry);
  register_register(registry);
  register_rejoin(registry);
  register_accept(registry);
  register_upgrade_hub(registry);
  register_upgrade_agent(registry);
  register_unjoin(registry);
  register_unregister(registry);
  register_clean(registry);
}

}  // namespace fleetadm::commands
