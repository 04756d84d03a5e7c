// The objects of one cluster: a revision counter, the objects by (resource, namespace, name), and a log of changes that watches
// read. Kept in memory, and in a journal (SQLite) where one is given: a write is visible, and acknowledged, only once the
// journal has committed it. Any thread may call anything.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/sandbox/store/journal.h"
#include "core/sandbox/store/stored.h"
#include "kubeclient/base/json.h"

namespace fleetadm::sandbox {

enum class Change { kAdded, kModified, kDeleted };

struct Event {
  Change type = Change::kAdded;
  std::int64_t revision = 0;
  std::string ns;
  std::string name;
  StoredPtr now;     // of kDeleted: the last state, with the deletion's revision
  StoredPtr before;  // null of kAdded
  std::chrono::steady_clock::time_point at;
};
using EventPtr = std::shared_ptr<const Event>;

struct Item {
  std::string ns;
  std::string name;
  StoredPtr object;
};
struct Snapshot {
  std::int64_t revision = 0;
  std::vector<Item> items;  // in byte order of "namespace/name"
};

/// One change that is asked for. Resources are named "group/plural", of the core group "/plural".
struct Write {
  std::string resource;
  std::string ns;
  std::string name;
  std::int64_t expected = 0;  // the revision that the object must have now; 0: it must not exist
  Json object;                // the new state; for a removal the last one
  bool remove = false;
  std::string version = {};  // that the object is in, where that has to be known (Stored)
};

class Store;

/// A reader of the log of one resource: it has a place in the log and no queue of its own, so a slow reader costs nothing.
class Watch {
 public:
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// The next events, at most `most`, and none more once their objects have `bytes` together; empty where there are none yet.
  /// kGone: the log no longer reaches back to this reader.
  Result<std::vector<EventPtr>> take(std::size_t most, std::size_t bytes = 1024UL * 1024);
  /// Every event up to this revision has been taken.
  std::int64_t revision() const;

 private:
  friend class Store;
  struct State;
  Watch(Store& store, std::shared_ptr<State> state) : store_(store), state_(std::move(state)) {}
  Store& store_;
  std::shared_ptr<State> state_;
};

class Store {
 public:
  struct Limits {
    // Of a resource's events, those that are older than kept_for are kept as long as they are few and small.
    std::chrono::steady_clock::duration kept_for = std::chrono::minutes(5);
    std::size_t kept_events = 100;
    std::size_t kept_bytes = 16UL * 1024;  // of past states
    std::size_t most_events = 20000;       // however young
  };

  /// Reads what the journal holds; without a journal the store is empty.
  static Result<std::unique_ptr<Store>> open(std::unique_ptr<Journal> journal, Limits limits);
  static Result<std::unique_ptr<Store>> open(std::unique_ptr<Journal> journal) { return open(std::move(journal), Limits{}); }
  ~Store();

  std::int64_t revision() const;
  StoredPtr get(const std::string& resource, const std::string& ns, const std::string& name) const;
  /// The objects of a resource, of one namespace or of all (""), now (`at` 0) or as they were at a revision that is not in the
  /// future. kGone: the log no longer reaches back that far. `name`: no other one is wanted, which saves a look at them where
  /// the namespace is known or there is none; others may be among the objects all the same.
  Result<Snapshot> list(const std::string& resource, const std::string& ns, std::int64_t at = 0,
                        const std::string& name = {}) const;
  std::size_t count(const std::string& resource, const std::string& ns) const;

  /// Waits until the change is committed. kConflict with reason "Exists", "Missing" or "Changed"; kInternal where the journal
  /// fails. Writers at the same time share one commit. The change keeps its object as it was stored.
  Result<StoredPtr> write(Write& change);
  Result<StoredPtr> write(Write&& change) { return write(change); }
  /// What `writes` writes becomes one commit of the journal, after it. Nobody else may write meanwhile; the failure is of all.
  Status write_together(const std::function<void()>& writes);

  /// Events after `from`, of one namespace or of all (""), of objects of one name or of all (""). `wake` is called, on any
  /// thread, when there is something to take after there was nothing. The store must outlive the watch. kGone as for list().
  Result<std::unique_ptr<Watch>> watch(const std::string& resource, const std::string& ns, const std::string& name,
                                       std::int64_t from, std::function<void()> wake);
  Result<std::unique_ptr<Watch>> watch(const std::string& resource, const std::string& ns, std::int64_t from,
                                       std::function<void()> wake) {
    return watch(resource, ns, "", from, std::move(wake));
  }

 private:
  friend class Watch;
  struct Lane;
  struct Pending;
  Store(std::unique_ptr<Journal> journal, Limits limits);
  void commit(std::vector<Pending*>& batch);
  void publish(const std::string& resource, EventPtr event, std::vector<std::shared_ptr<Watch::State>>& woken);
  void trim(Lane& lane) const;
  Lane& lane(const std::string& resource);
  const Lane* find_lane(const std::string& resource) const;

  struct Inner;
  std::unique_ptr<Inner> inner_;
};

}  // namespace fleetadm::sandbox
