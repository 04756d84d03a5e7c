// What the process node tells the API server of its containers, so that logs can be served: which part of which file is a
// container's output. In memory: a node that starts again starts its containers again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace fleetadm::sandbox {

/// One life of a container.
struct ContainerRun {
  std::string pod_uid;
  std::filesystem::path log;
  std::uint64_t begin = 0;           // where its output starts in the log
  std::optional<std::uint64_t> end;  // set once the container has ended

  bool operator==(const ContainerRun&) const = default;
};

struct ContainerRuns {
  ContainerRun current;  // the last one, ended or not
  std::optional<ContainerRun> previous;
};

/// Bytes; 0 where there is no file yet.
std::uint64_t log_size(const std::filesystem::path& log);

/// Thread-safe. Pods are "namespace/name".
inline constexpr std::size_t kMostContainers = 4096;  // beyond these, those that have ended are forgotten
class ContainerTable {
 public:
  /// Its output is what `log` has from `begin` on.
  void started(const std::string& pod, const std::string& pod_uid, const std::string& container, const std::filesystem::path& log,
               std::uint64_t begin);
  void ended(const std::string& pod, const std::string& pod_uid, const std::string& container);
  /// All containers of the pod. They are remembered as long as there is room: a finished pod's log can be read.
  void ended(const std::string& pod, const std::string& pod_uid);
  /// The runs of a container of this very pod.
  std::optional<ContainerRuns> find(const std::string& pod, const std::string& pod_uid, const std::string& container) const;

 private:
  using Key = std::pair<std::string, std::string>;  // pod, container

  mutable std::mutex mutex_;
  std::map<Key, ContainerRuns> runs_;
};

}  // namespace fleetadm::sandbox
