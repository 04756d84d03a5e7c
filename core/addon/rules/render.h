// The manifests of an AddOnTemplate for one cluster (docs/reference/addon.md#templates).
#pragma once

#include <string_view>
#include <vector>

#include "core/addon/rules/object_reader.h"
#include "core/rollout/types.h"

namespace fleetadm::addon {

/// Manifests of one cluster are never larger than this together, as JSON.
inline constexpr std::size_t kMaxRenderedBytes = 4UL << 20U;

struct Rendering {
  std::vector<Json> manifests;            // in the template's order; what is injected comes last
  Json manifest_configs = Json::array();  // as in a work's spec.manifestConfigs
};

/// Error::reason where the template or the configuration is not the one that was decided for the cluster, by its hash: what is
/// deployed stays until the rollout reaches the cluster.
inline constexpr std::string_view kNotReleased = "ConfigurationNotReleased";

/// The template that the ManagedClusterAddOn is configured with, for the cluster that its namespace names, with the
/// AddOnDeploymentConfig it is configured with, if any. Pure; never more than kMaxRenderedBytes.
///
/// kStrict differs in this: what is rendered has the hash that was decided (kNotReleased; not so under deletion, for hooks must
/// run); a variable's value cannot leave the string that it is put into; names that are none in paths are refused, and templates
/// whose custom signer is one of Kubernetes' own; manifest_configs are those of the template in use, not of the default one.
Result<Rendering> render_template(const ObjectReader& objects, const Json& addon, rollout::Semantics conduct);

}  // namespace fleetadm::addon
