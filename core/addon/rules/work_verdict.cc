#include "core/addon/rules/work_verdict.h"

#include "core/controller/controller.h"

namespace fleetadm::addon {

std::optional<Verdict> trouble_of_works(const std::vector<ObjectPtr>& works) {
  if (works.empty()) return Verdict{"Unknown", "WorkNotFound", "Addon manifestWork is not found"};
  for (const ObjectPtr& work : works) {
    const Json* available = controller::find_condition(*work, "Available");
    if (available == nullptr) return Verdict{"Unknown", "WorkNotApplied", "Addon manifestWork is not applied yet"};
    if (str(*available, {"status"}) == "False") return Verdict{"False", "WorkNotApplied", str(*available, {"message"})};
  }
  return std::nullopt;
}

}  // namespace fleetadm::addon
