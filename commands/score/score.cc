#include "commands/score/score.h"

namespace fleetadm::commands {

void register_score(Registry& registry) {
  register_score_set(registry);
  register_score_get(registry);
}

}  // namespace fleetadm::commands
