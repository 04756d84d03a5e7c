#include "commands/work/work.h"

namespace fleetadm::commands {

void register_work(Registry& registry) {
  register_work_create(registry);
  register_work_get(registry);
  register_work_delete(registry);
  register_work_status(registry);
  register_work_describe(registry);
  register_work_diff(registry);
  register_work_evaluate(registry);
}

}  // namespace fleetadm::commands
