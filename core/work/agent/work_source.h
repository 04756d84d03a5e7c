// The hub's side of the agent: where the works of one cluster come from, and where what is reported of them goes. The agent knows
// of the hub by this alone, so that another transport than its API server is another implementation.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/controller/controller.h"
#include "kubeclient/base/cached_object.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::work {

/// Thread-safe. `name` is that of a ManifestWork.
class WorkSource {
 public:
  virtual ~WorkSource() = default;

  /// `changed` is called with the name of each work that comes, changes or goes; keep it short. Before works arrive, and once.
  virtual void on_change(std::function<void(const std::string& name)> changed) = 0;
  /// The work as it last arrived; null: there is none.
  virtual kube::CachedPtr get(const std::string& name) const = 0;
  /// The works with a manifest of that group, namespace and name, as they last arrived; the kind is the caller's to look at.
  virtual std::vector<kube::CachedPtr> works_at(const std::string& group, const std::string& ns,
                                                const std::string& name) const = 0;
  /// The work as the hub itself holds it now; nullopt: it is gone.
  virtual Result<std::optional<Json>> read(const std::string& name) = 0;

  /// Changes metadata (`subresource` empty) or "status" of a work from `before` to `after` and answers the new state, where the
  /// work still is what `before` shows (kConflict otherwise, kNotFound where it is gone). Without a difference nothing is sent.
  virtual Result<Json> patch(const Json& before, const Json& after, std::string_view subresource) = 0;
  /// Tells the people at the hub of something about the work. Best effort.
  virtual void warn(const Json& work, std::string_view reason, std::string_view action, const std::string& note) = 0;
};

/// The works in the namespace `cluster` of a hub, by list and watch, which `manager` runs.
std::shared_ptr<WorkSource> works_on_hub(controller::Manager& manager, const kube::Client& hub, const std::string& cluster,
                                         std::shared_ptr<Clock> clock = Clock::system());

/// Sends the merge patch from `before` to `after` with uid and resourceVersion as preconditions; nothing where they are equal.
Result<Json> patch_difference(const kube::Client& client, const kube::Resource& resource, const Json& before, const Json& after,
                              std::string_view subresource);

}  // namespace fleetadm::work
