// Publishes what a cluster has free as an AddOnPlacementScore in its namespace on the hub: every minute, and when nodes or pods
// change.
#pragma once

#include <memory>
#include <string>

#include "core/addon/score/usage.h"
#include "core/controller/controller.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::addon {

enum class ScoreSource { kAuto, kRequests, kMetrics };  // kAuto: metrics where the cluster serves them

struct PublisherOptions {
  std::string cluster;
  std::string name = "resource-usage-score";
  ScoreSource source = ScoreSource::kAuto;
  ScoreOptions score;
  std::shared_ptr<Clock> clock = Clock::system();
};

/// Adds the controller "scores".
void add_score_publisher(controller::Manager& manager, const kube::Client& hub, const kube::Client& spoke,
                         const PublisherOptions& options);

}  // namespace fleetadm::addon
