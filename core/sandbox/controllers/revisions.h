// ControllerRevisions: the history of the pod templates of DaemonSets and StatefulSets.
#pragma once

#include <string>
#include <vector>

#include "core/sandbox/controllers/controller.h"

namespace fleetadm::sandbox {

struct RevisionHistory {
  std::string current;  // name of the revision of the template as it is now
  std::string hash;     // its label
  std::vector<Json> all;
};

/// Makes the revision of the owner's template, or makes an old one of the same template the newest again, and removes what
/// exceeds spec.revisionHistoryLimit and is not in `used` (hashes).
RevisionHistory keep_revisions(const ControllerContext& context, const Json& owner, const std::vector<std::string>& used);

/// The pod template that a revision holds.
const Json& template_of_revision(const Json& revision);

}  // namespace fleetadm::sandbox
