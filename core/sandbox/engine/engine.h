// Objects with Kubernetes' rules around them: what a create, an update, a deletion does to metadata, generation, finalizers and
// status, and which requests it refuses (docs/reference/kubernetes-api.md). HTTP handlers and the sandbox's own controllers
// both write through here. Any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/sandbox/engine/strategy.h"
#include "core/sandbox/store/store.h"
#include "kubeclient/base/clock.h"

namespace fleetadm::sandbox {

struct DeleteOptions {
  std::optional<std::int64_t> grace_seconds;
  std::string uid;
  std::string resource_version;
  std::string propagation;  // "", Background, Foreground, Orphan
  bool dry_run = false;
  bool keeps_no_orphans = false;  // orphanDependents=false, the old form: what is not gone at once is answered with 202
};

struct Written {
  Json object;
  bool created = false;
  bool removed = false;  // the last finalizer of a deleting object went
  std::vector<std::string> warnings;
};

/// Watches over committed writes, on the writer's thread (custom resource definitions are served from the moment on that their
/// write is acknowledged). Null `object`: it is gone.
using Observer = std::function<void(const Kind&, const std::string& ns, const std::string& name, const Json* object)>;

/// A write that is otherwise good, as validating admission sees it.
struct Admission {
  const Kind& kind;
  std::string operation;  // CREATE, UPDATE, DELETE, CONNECT
  std::string ns;
  std::string name;
  bool generated_name;  // the client left it to the server
  const Json* object;   // null of a deletion
  const Json* old;      // null of a creation
  const WriteOptions& options;
};
/// Refuses it, or adds warnings for the client.
using Admit = std::function<ApiStatus(const Admission&, std::vector<std::string>& warnings)>;

/// Pure: managed fields of a write (core/apimachinery). `old` is null of a create.
using TrackFields = std::function<void(const Kind&, const Json* old, Json& object, const WriteOptions&, Instant now)>;

class Engine {
 public:
  Engine(Store& store, KindTable& kinds, std::shared_ptr<Clock> clock);

  void set_strategy(const std::string& storage, Strategy own) { strategies_[storage] = std::move(own); }
  void set_observer(Observer observer) { observer_ = std::move(observer); }
  void set_tracker(TrackFields tracker) { tracker_ = std::move(tracker); }
  void set_admission(Admit admit) { admit_ = std::move(admit); }

  ApiResult<Json> get(const Kind& kind, const std::string& ns, const std::string& name) const;  // full()
  /// All objects, full(), of one namespace or all.
  std::vector<Json> list(const Kind& kind, const std::string& ns = {}) const;
  ApiResult<Written> create(const Kind& kind, const std::string& ns, Json object, const WriteOptions& options);
  /// Reads, lets `change` make the new state of it, and writes that; again where another write came in between, unless the new
  /// state names a resourceVersion of its own. Null: the object does not exist; `change` may make one where `may_create`.
  using Change = std::function<ApiResult<Json>(const Json* old)>;
  ApiResult<Written> modify(const Kind& kind, const std::string& ns, const std::string& name, const WriteOptions& options,
                            bool may_create, const Change& change);
  /// The object as it is now (`removed`: as it was).
  ApiResult<Written> remove(const Kind& kind, const std::string& ns, const std::string& name, const DeleteOptions& options,
                            const WriteOptions& by);

  /// An object as another server had it: its uid, times, generation, status and managedFields stay, and a kind's own checks of
  /// creates and updates are not made again. One that exists takes everything but its uid and creationTimestamp from it; the
  /// same again is no write. Custom resources are held to their schema.
  ApiResult<Written> import_object(const Kind& kind, Json object, const WriteOptions& options);

  /// The object of a stored text with apiVersion and kind: in this row's version, but for a custom resource that would have to
  /// be converted (it says which version it is in). Asks no webhook.
  Json full(const Kind& kind, const Stored& stored) const;
  /// The same as text, without parsing where the version is the stored one.
  std::string text(const Kind& kind, const Stored& stored) const;
  /// full() has to be converted to be in this row's version.
  static bool converts(const Kind& kind, const Stored& stored);
  /// The objects in this row's version whatever that takes: a webhook's answer may be waited for. 500 where it has none.
  ApiResult<Json> read(const Kind& kind, const Stored& stored) const;
  ApiResult<Json> read(const Kind& kind, const std::string& ns, const std::string& name) const;
  ApiResult<std::vector<Json>> read(const Kind& kind, const std::vector<const Stored*>& stored) const;

  Store& store() { return store_; }
  const Store& store() const { return store_; }
  KindTable& kinds() { return kinds_; }
  const KindTable& kinds() const { return kinds_; }
  const Clock& clock() const { return *clock_; }

 private:
  ApiResult<Written> create_named(const Kind& kind, const std::string& ns, Json object, const WriteOptions& options,
                                  bool generated = false);
  ApiResult<Json> prepare_update(const Kind& kind, Json object, const Json& old, const WriteOptions& options,
                                 std::vector<std::string>& warnings);
  ApiStatus admit(const Admission& write, std::vector<std::string>& warnings) const {
    return admit_ ? admit_(write, warnings) : ApiStatus();
  }
  ApiResult<Json> put(const Kind& kind, const std::string& ns, const std::string& name, std::int64_t expected, Json object,
                      bool remove, bool dry_run, bool& raced);
  ApiResult<StoredPtr> commit(const Kind& kind, Write& write, Json* object, bool& raced);
  ApiResult<Json> put_converted(const Kind& kind, const std::string& ns, const std::string& name, std::int64_t expected,
                                Json object, Json stored, bool remove, bool dry_run, bool& raced);
  KindPtr row_for(const Kind& asked, const Stored& stored, const WriteOptions& options) const;
  ApiStatus check_namespace(const Kind& kind, const std::string& ns, const std::string& name) const;
  const Strategy& strategy(const Kind& kind) const;

  Store& store_;
  KindTable& kinds_;
  std::shared_ptr<Clock> clock_;
  std::map<std::string, Strategy> strategies_;
  Observer observer_;
  TrackFields tracker_;
  Admit admit_;
};

/// Defaulting, pruning and validation of custom resources hang here (engine/custom.h); called by the engine where a row has them.
ApiStatus check_custom_create(const Kind& kind, Json& object);
ApiStatus check_custom_update(const Kind& kind, Json& object, const Json& old, const std::string& subresource);

// Metadata (metadata.cc).
std::vector<Cause> metadata_problems(const Kind& kind, const Json& object);
/// What a custom resource's client is told of finalizers that it adds (`old` null: of all).
std::vector<std::string> finalizer_warnings(const Json& object, const Json* old);
/// The same owner twice counts once; the client is told of it.
std::vector<std::string> merge_owners(Json& object);
bool same_but(const Json& a, const Json& b, std::initializer_list<std::string_view> left_out);

}  // namespace fleetadm::sandbox
