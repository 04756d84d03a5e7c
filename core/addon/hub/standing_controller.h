// How the add-ons of each cluster stand, on the ManagedCluster and on the add-ons (core/addon/rules/cluster_standing.h).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "core/addon/hub/addon_controllers.h"

namespace fleetadm::addon {

class StandingController {
 public:
  explicit StandingController(AddonHub addons) : addons_(std::move(addons)) {}

  /// `key` is the cluster's name.
  Result<controller::Outcome> reconcile(const std::string& key, const std::stop_token& stop);

 private:
  /// Takes out of the pass what was overruled a moment ago: the add-on's own manager contradicts, and is not to be answered at
  /// once, again and again.
  void keep_peace(const std::string& cluster, Pass& pass);

  AddonHub addons_;
  std::mutex mutex_;
  std::map<std::string, std::map<std::string, Instant>> told_;  // cluster → add-on → when its Available was seen to be overruled
};

/// Adds "addon-standing" (keys: the cluster).
void add_standing_controller(controller::Manager& manager, const AddonHub& addons);

}  // namespace fleetadm::addon
