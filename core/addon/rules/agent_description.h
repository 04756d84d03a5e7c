// How an add-on's agent is deployed and judged, with its manifests for one cluster. Of an add-on with an AddOnTemplate all of
// it comes from the template; the options are those that other add-ons of the framework can choose.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm::addon {

/// What decides that an add-on is available (docs/reference/addon.md#health).
enum class HealthProber { kNone, kLease, kOff, kWork, kDeployments, kWorkloads };

struct AgentDescription {
  std::vector<Json> manifests;
  std::optional<Error> error;  // rendering failed: there are no manifests
  /// The manifests that were decided for the cluster cannot be rendered yet: what is deployed stays as it is.
  bool held = false;
  /// Of an add-on under deletion: what it was rendered from does not exist any more, so that its hooks cannot be run.
  bool lost = false;
  bool hosted_mode_enabled = false;
  /// The mode is read from the add-on's annotation; else it is the default mode.
  bool hosted_by_annotation = false;
  bool config_check_enabled = false;      // nothing is deployed before Configured is True
  Json manifest_configs = Json::array();  // as in a work's spec.manifestConfigs
  HealthProber prober = HealthProber::kNone;
  Json probe_fields = Json::array();  // kWork: {resourceIdentifier, probeRules}
  bool checks_workloads = false;      // kWork: values are judged as those of Deployments and DaemonSets
  bool without_probes = false;        // kWork: available at once
};

}  // namespace fleetadm::addon
