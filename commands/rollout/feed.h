// A rollout that is watched: the hub's objects are read once and kept fresh by watches.
#pragma once

#include <memory>

#include "commands/framework/watched.h"
#include "commands/rollout/view.h"

namespace fleetadm::commands {

class RolloutFeed {
 public:
  /// kNotFound where there is no such set; what may not be listed or watched is an error, too.
  static Result<std::unique_ptr<RolloutFeed>> open(const kube::Client& hub, const RolloutName& name, const std::stop_token& stop);

  /// From memory. kNotFound: the set is gone.
  Result<RolloutView> view(Instant now) const;
  /// Until something has changed, `at_most` is over, or it is told to stop.
  void wait(Duration at_most, const std::stop_token& stop) { watched_.wait(at_most, stop); }
  /// The hub does not answer just now.
  std::optional<Error> trouble() const { return watched_.trouble(); }

 private:
  RolloutFeed(const kube::Client& hub, RolloutName name, const Json& set);

  RolloutName name_;
  Watched watched_;
  std::size_t sets_ = 0;
  std::size_t placements_ = 0;
  std::size_t decisions_ = 0;
  std::size_t revisions_ = 0;
  std::size_t works_ = 0;
};

}  // namespace fleetadm::commands
