// What is a kind's own in creates, updates and deletions. The engine knows the steps and no kind; a kind that differs from the
// others has a Strategy, set under its storage.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/sandbox/model/error.h"
#include "core/sandbox/model/kind.h"
#include "core/serve/request_info.h"
#include "kubeclient/base/clock.h"

namespace fleetadm::sandbox {

struct WriteOptions {
  serve::User user;
  std::string manager;  // the field manager
  std::string subresource;
  bool dry_run = false;
  bool internal = false;       // a controller of the sandbox itself: no escalation checks
  bool tracks_fields = true;   // false: the object's managedFields are already what they have to be (apply)
  bool client_update = false;  // a PUT: fields of managedFields may be reset
  /// Of a request to a subresource that writes through to the object (scale, binding): what validating admission is told, and the
  /// object it sees instead.
  std::string admitted_as;
  std::function<Json(const Json& object)> admitted_view;
};

class Engine;

/// What a kind's own steps get to see.
struct StrategyContext {
  Engine& engine;
  const Kind& kind;
  const WriteOptions& options;
  Instant now;
};

/// Any of the functions may be empty: then the kind is like the others there.
struct Strategy {
  // Of writes.
  /// Fills in defaults; called before validation for creates and updates alike.
  std::function<void(Json& object)> defaults;
  std::function<ApiStatus(const StrategyContext&, Json& object)> create;
  std::function<ApiStatus(const StrategyContext&, Json& object, const Json& old)> update;
  /// Whether an update that leaves the spec as it was counts in metadata.generation all the same.
  std::function<bool(const StrategyContext&, const Json& object, const Json& old)> counts_generation;
  /// A write of the status may change finalizers and owners, too.
  bool status_writes_owners = false;
  /// Objects of another server are validated as if they were new here: this server acts upon them from the write on.
  bool validates_imports = false;

  // Of deletions.
  /// Refuses one.
  std::function<ApiStatus(const StrategyContext&, const Json& old)> remove;
  /// Called once, before the object is marked as being deleted: adds finalizers of the kind's own.
  std::function<void(Json& object)> before_removal;
  /// Called once, with the object marked as being deleted.
  std::function<void(Json& object)> after_marked;
  /// How long a deletion waits for what runs; empty: not at all.
  std::function<std::int64_t(const Json& old, std::optional<std::int64_t> asked)> grace_seconds;
  /// Whether something besides metadata.finalizers keeps an object that is being deleted.
  std::function<bool(const Json& object)> is_held;
};

}  // namespace fleetadm::sandbox
