// What this process wrote and may not have read back yet. A pass over a cache that is still behind its own writes would send them
// once more, only for the server to refuse them; it waits instead.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace fleetadm::placement {

/// Versions that a write has replaced, by the object's name. The empty version: the object was not there.
using Superseded = std::map<std::string, std::set<std::string>>;

/// Thread-safe.
class Expectations {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// How long a write is waited for: an object that somebody removed while a watch was broken is never seen.
  static constexpr std::chrono::seconds kPatience{10};

  /// Notes what was replaced for a key; adds to what is waited for already.
  void note(const std::string& key, const Superseded& versions, Time now);
  /// True where the cache has left every replaced version behind, or kPatience has passed; the key is forgotten then. `cached`
  /// tells the cached version of a name, empty where there is none.
  bool seen(const std::string& key, const std::function<std::string(const std::string& name)>& cached, Time now);
  void forget(const std::string& key);

 private:
  struct Awaited {
    Superseded versions;
    Time since;
  };
  std::mutex mutex_;
  std::map<std::string, Awaited> awaited_;
};

}  // namespace fleetadm::placement
