// What a template renders for one cluster, as commands ask for it.
#pragma once

#include <string>
#include <vector>

#include "core/addon/rules/render.h"

namespace fleetadm::commands {

/// What is rendered: a template, a configuration (null: none), and the cluster (null: nothing is known of it).
struct RenderingInputs {
  std::string addon;
  std::string cluster;
  Json addon_template;
  Json config;
  Json managed_cluster;
};

/// As the hub renders it once this is what was decided for the cluster.
Result<addon::Rendering> render_inputs(const RenderingInputs& inputs);

}  // namespace fleetadm::commands
