// Which add-ons read an object: what tells a controller whom a change concerns.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/addon/rules/object_reader.h"

namespace fleetadm::addon {

/// "type/ns/name" of the objects that a ManagedClusterAddOn's deployment depends on: its cluster, the hosting cluster, its
/// configurations.
std::set<std::string> objects_read_by(const Json& addon);
std::string reference_key(const GroupResource& type, const std::string& object_key);

/// Thread-safe.
class References {
 public:
  /// What the add-on `key` reads now; nothing: it is gone.
  void set(const std::string& key, std::set<std::string> objects);
  std::vector<std::string> readers_of(const std::string& object) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::set<std::string>> readers_;  // object → add-ons
  std::map<std::string, std::set<std::string>> reads_;    // add-on → objects
};

}  // namespace fleetadm::addon
