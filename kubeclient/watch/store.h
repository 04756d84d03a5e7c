// The cache of an informer: objects by key, and secondary indexes. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/watch/informer.h"

namespace fleetadm::kube {

class Store {
 public:
  using Indexes = decltype(InformerOptions::indexes);
  /// An object and the values it is filed under, index by index.
  struct Entry {
    CachedPtr object;
    std::vector<std::vector<std::string>> values;
  };
  struct ByKey {
    using is_transparent = void;
    static std::string_view key_of(const Entry& entry) { return entry.object->key(); }
    static std::string_view key_of(std::string_view key) { return key; }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return key_of(a) < key_of(b);
    }
  };
  using Entries = std::set<Entry, ByKey>;
  /// In place of what has the same key.
  static void put_into(Entries& entries, Entry entry);
  struct Change {
    EventType type;
    CachedPtr before;
    CachedPtr after;
  };

  explicit Store(Indexes indexes) : indexes_(std::move(indexes)), filed_(indexes_.size()) {}

  /// Makes an entry of an object that is already projected.
  Entry entry_of(std::string key, Json object) const;
  /// The cached entry, where its version is the given one (so that a relist keeps the memory it has).
  std::optional<Entry> same(std::string_view key, std::string_view resource_version, std::string_view uid) const;
  /// The cached entry of the object, in whichever version.
  std::optional<Entry> of(std::string_view key, std::string_view uid) const;

  /// What it replaced, or null.
  CachedPtr put(Entry entry);
  CachedPtr erase(std::string_view key);
  /// Takes a complete list; answers what differs from before.
  std::vector<Change> replace(Entries entries);

  CachedPtr get(std::string_view key) const;
  std::vector<CachedPtr> list() const;
  std::vector<CachedPtr> by_index(std::string_view index, std::string_view value) const;

 private:
  void file(const Entry& entry);
  void unfile(const Entry& entry);

  const Indexes indexes_;
  mutable std::mutex mutex_;
  Entries entries_;
  std::vector<std::map<std::string, std::set<std::string, std::less<>>, std::less<>>> filed_;
};

}  // namespace fleetadm::kube
