// What this process has written and its informer has not told of yet.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "kubeclient/base/json.h"

namespace fleetadm::kube {

/// A controller that is called between its own write and the event of it would decide on a state that is over. Versions are
/// compared as numbers, which Kubernetes guarantees for one type; others count as old. Thread-safe.
class MutationCache {
 public:
  /// The informer's object, or what was written of it since.
  Json newest(Json cached);
  /// The server's answer to a write.
  void note(const Json& stored);

 private:
  using Steady = std::chrono::steady_clock;
  struct Entry {
    Json object;
    Steady::time_point noted;
  };
  std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> by_uid_;
};

/// Whether one version of an object comes after another; false where either is no number.
bool is_newer_version(std::string_view version, std::string_view than);

}  // namespace fleetadm::kube
