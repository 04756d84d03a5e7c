// The rollout of an add-on that is watched: what its rules read is listed once and kept fresh by watches.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "commands/framework/watched.h"
#include "core/addon/plan/rollout_objects.h"

namespace fleetadm::commands {

class AddonFeed {
 public:
  /// kNotFound where there is no such add-on; what may not be listed or watched is an error, too.
  static Result<std::unique_ptr<AddonFeed>> open(const kube::Client& hub, const std::string& addon, const std::stop_token& stop);

  /// From memory. kNotFound: the add-on is gone.
  Result<addon::AddonRolloutObjects> objects() const;
  /// False where the install strategy names a placement of a namespace that is not watched: the feed is to be opened again.
  bool covers(const addon::AddonRolloutObjects& objects) const;
  /// Until something has changed, `at_most` is over, or it is told to stop.
  void wait(Duration at_most, const std::stop_token& stop) { watched_.wait(at_most, stop); }
  /// The hub does not answer just now.
  std::optional<Error> trouble() const { return watched_.trouble(); }

 private:
  AddonFeed(const kube::Client& hub, std::string addon, const Json& declaration);
  void watch(const kube::Resource& resource, kube::InformerOptions options);

  std::string addon_;
  std::set<std::string> namespaces_;  // of placements
  Watched watched_;
  std::vector<std::pair<const kube::Resource*, std::size_t>> lists_;
};

}  // namespace fleetadm::commands
