#include "commands/msa/msa.h"

namespace fleetadm::commands {

void register_msa(Registry& registry) {
  register_msa_create(registry);
  register_msa_get(registry);
  register_msa_describe(registry);
  register_msa_token(registry);
  register_msa_exec_credential(registry);
  register_msa_delete(registry);
}

}  // namespace fleetadm::commands
