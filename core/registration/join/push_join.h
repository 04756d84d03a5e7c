// What join writes on both sides of a member that the hub dials (docs/reference/registration.md#push-members).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/install/install.h"
#include "core/registration/join/push_check.h"

namespace fleetadm::join {

struct PushWish {
  std::string cluster;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  Duration token_lifetime = std::chrono::hours(7 * 24);
  bool full_rights = false;  // of works; given once, they stay until the cluster leaves; with Karmada's names always
};

/// Writes both sides; what was made is told in `changes` even where it fails, and then nothing of it is left unless `left` names
/// it. A dry run reads and writes nothing.
Status push_join(const PushSides& sides, const PushChecked& checked, const PushWish& wish, const install::Options& how,
                 const Clock& clock, std::vector<install::Change>& changes, std::vector<std::string>& left);

}  // namespace fleetadm::join
