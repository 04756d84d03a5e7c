// One pass over a ManagedClusterAddOn by all of its rules: each sees the add-on as those before it leave it, so that it is
// written once.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/addon/rules/agent_description.h"
#include "core/addon/rules/config_decision.h"
#include "core/addon/rules/pass.h"

namespace fleetadm::addon {

/// The agent of an add-on; nullopt: another manager deploys it.
using DescribeAgent = std::function<std::optional<AgentDescription>(const ObjectReader&, const Json& addon)>;

struct AddonRules {
  /// What its roll-out has decided; nullopt: its configuration stays as it is.
  std::optional<ConfigDecision> decision;
  KnownTypes known;
  DescribeAgent describe;
  Instant now;
};

struct AddonPass {
  Json addon;                      // as it is to be
  std::vector<Json> rights;        // RoleBindings of its agent on the hub
  std::vector<Json> token;         // what its agent needs to get tokens
  std::vector<Json> works;         // in the order in which they are to be written
  std::vector<ObjectRef> deleted;  // in this order
  std::vector<Error> errors;       // the pass is repeated with a growing delay, and written all the same
};

/// Its owner and annotations, its configuration, registration, deployment, health and progress.
AddonPass look_after_addon(const ObjectReader& objects, const Json& addon, const AddonRules& rules);

/// What an add-on that is gone has left.
std::vector<ObjectRef> leftovers_of_addon(const ObjectReader& objects, std::string_view cluster, std::string_view addon);

}  // namespace fleetadm::addon
