// Reflector, cache and informer: list, then watch, for ever (docs/reference/kubernetes-api.md#lists-and-watches,
// docs/reference/kubernetes-api.md#informers). Runs on the I/O loop: no thread of its own. Empty is not absent: a failed or
// partial list never empties the cache.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/cached_object.h"
#include "kubeclient/base/json.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::kube {

/// Objects that are nested deeper are left out with a warning, so that one of them does not keep the others from being read: what
/// was cached of such an object stays, until it is deleted. An API server stores up to some 10,000 levels.
inline constexpr int kMaxObjectDepth = kMaxJsonDepth - 1;  // a watch event holds it one level down

enum class EventType { kAdded, kModified, kDeleted };

/// `before` is null for kAdded, `after` for kDeleted. Called on the I/O thread in order; keep it short (enqueue a key).
using EventHandler = std::function<void(EventType type, const CachedPtr& before, const CachedPtr& after)>;

struct InformerOptions {
  std::string ns;  // empty: all
  std::string label_selector;
  std::string field_selector;
  /// Keys of secondary indexes: name → the values under which an object is filed.
  std::vector<std::pair<std::string, std::function<std::vector<std::string>(const Json&)>>> indexes;
  /// Applied to each object before it is cached (drop fields that no one reads). managedFields are dropped anyway.
  std::function<void(Json&)> project;
};

/// Thread-safe. Handlers are added before start().
class Informer {
 public:
  static std::shared_ptr<Informer> make(Client client, Resource resource, InformerOptions options = {},
                                        std::shared_ptr<IoLoop> loop = IoLoop::shared());
  virtual ~Informer() = default;

  virtual void on_event(EventHandler handler) = 0;
  /// Called after each complete (re)list was taken into the cache.
  virtual void on_synced(std::function<void()> handler) = 0;
  virtual void start() = 0;
  /// Stops watching; no handler runs after it returns.
  virtual void stop() = 0;

  /// The first complete list is in the cache.
  virtual bool synced() const = 0;
  virtual bool wait_synced(Duration timeout, std::stop_token stop = {}) const = 0;
  /// Why the last list or watch failed, if it has not succeeded since (for health and messages).
  virtual std::optional<Error> last_error() const = 0;

  virtual CachedPtr get(std::string_view key) const = 0;
  virtual std::vector<CachedPtr> list() const = 0;
  virtual std::vector<CachedPtr> by_index(std::string_view index, std::string_view value) const = 0;
  virtual const Resource& resource() const = 0;
};

/// Waits until `done` answers true for the object (nullopt: it does not exist), by one GET and a watch; kTimeout after `timeout`.
/// `done` may end the wait with an error.
Result<std::optional<Json>> wait_for(const Client& client, const Resource& resource, std::string_view ns, std::string_view name,
                                     const std::function<Result<bool>(const std::optional<Json>&)>& done, Duration timeout,
                                     std::stop_token stop = {});

/// Watches a collection (list first, each item as kAdded) and calls `event` on the calling thread until it answers false,
/// `stop` is set or an error ends it for good. Survives disconnects and 410. For `get -w`.
Status watch_collection(const Client& client, const Resource& resource, std::string_view ns, const ListOptions& options,
                        const std::function<bool(EventType, const Json&)>& event, std::stop_token stop);

}  // namespace fleetadm::kube
