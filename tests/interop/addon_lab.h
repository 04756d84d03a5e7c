// Two hubs with the same objects, and no clusters behind them: on one our controllers run, on the other upstream's add-on
// manager. What agents would report is played, on both alike.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tests/interop/peers.h"
#include "tests/support/fleet.h"

namespace fleetadm::testkit {

class AddonLab {
 public:
  /// Clusters c1…c4, accepted and in the cluster set "lab", which is bound to the namespace "apps".
  static Result<std::unique_ptr<AddonLab>> start();

  KubeServer& ours() { return fleet_->hub(); }
  KubeServer& theirs() { return fleet_->spoke(1); }
  std::string logs() const;
  /// From here on our controllers run the other hub, too.
  Status take_over();

  // Each on both hubs.
  /// The objects of a YAML text, with their status where they have one.
  Status create(std::string_view yaml);
  /// A merge patch; `subresource`: "status" or nothing.
  Status patch(const std::string& path, std::string_view yaml, const std::string& subresource = {});
  Status remove(const std::string& path);
  /// The placement apps/NAME has decided for these clusters ("c1 c2"), in one group.
  Status decide(const std::string& placement, std::string_view clusters);
  /// Reports as the agents of all clusters do: every work of the add-on is applied and available, every Deployment ready, every
  /// Job complete. Works that were reported on since their last change are left, unless `change` makes something else of it.
  void report(const std::string& addon, const std::function<void(Json& status)>& change = {});

  /// Empty: both hubs came to have the same of an add-on, `told` among it; else what differs.
  /// `reporting`: the clusters' agents report meanwhile.
  std::string difference(const std::string& addon, std::string_view told, bool reporting = true);
  /// Whether both come to tell this of an add-on, whatever else they tell.
  bool both_tell(const std::string& addon, std::string_view text);

 private:
  AddonLab() = default;
  Status start_ours(const KubeServer& hub, std::optional<sandbox::Child>& as);
  Status prepare();

  std::unique_ptr<Fleet> fleet_;
  std::optional<Peers> peers_;  // ends before the servers do
  std::optional<sandbox::Child> our_hub_;
  std::optional<sandbox::Child> taken_over_;
};

/// YAML of an AddOnTemplate with these manifests (YAML, one a document) and registrations (a list, in one line).
std::string addon_template(const std::string& name, const std::string& addon, const std::string& manifests,
                           const std::string& registration = {});

}  // namespace fleetadm::testkit
