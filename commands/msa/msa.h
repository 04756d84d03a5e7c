// The msa verbs: accounts on managed clusters whose tokens the hub holds (docs/reference/managed-serviceaccount.md).
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_msa(Registry& registry);

void register_msa_create(Registry& registry);
void register_msa_get(Registry& registry);
void register_msa_describe(Registry& registry);
void register_msa_token(Registry& registry);
void register_msa_exec_credential(Registry& registry);
void register_msa_delete(Registry& registry);

}  // namespace fleetadm::commands
