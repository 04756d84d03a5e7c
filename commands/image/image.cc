#include "commands/image/image.h"

namespace fleetadm::commands {

void register_image(Registry& registry) {
  register_image_save(registry);
  register_image_push(registry);
  register_image_load(registry);
}

}  // namespace fleetadm::commands
