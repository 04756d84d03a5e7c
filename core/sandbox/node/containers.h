// What the process node tells the API server of its containers, so that logs, exec, attach and port-forward can be served: which
// part of which file is a container's output, and where and with what its process runs. In memory: a node that starts again
// starts its containers again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/sandbox/node/child.h"
#include "core/serve/streams/nonblocking.h"
#include "kubeclient/base/owned_fd.h"

namespace fleetadm::sandbox {

/// One life of a container.
struct ContainerRun {
  std::string pod_uid;
  std::filesystem::path log;
  std::uint64_t begin = 0;           // where its output starts in the log
  std::optional<std::uint64_t> end;  // set once the container has ended

  bool operator==(const ContainerRun&) const = default;
};

/// The writing end of a container's stdin, where its pod has `stdin: true`. Thread-safe.
class ContainerInput {
 public:
  ContainerInput(OwnedFd pipe, bool once) : pipe_(std::move(pipe)), once_(once) {}
  /// A descriptor of one's own that does not wait; an empty one where the input has ended.
  OwnedFd open() const;
  /// A client has gone. With `stdinOnce` the container reads its end.
  void left();

 private:
  mutable std::mutex mutex_;
  OwnedFd pipe_;
  const bool once_;
};

/// Where and with what a container's process runs: what a command that is run beside it gets, too.
struct ContainerPlace {
  std::string executable;                      // what the image's program is here
  pid_t process = -1;                          //
  std::vector<std::string> environment;        // "NAME=value"
  std::string folder;                          // working folder
  std::vector<BindMount> mounts;               // of its mount namespace
  std::map<std::string, std::string> folders;  // a path in the container → the folder that stands for it here
  std::map<int, int> ports;                    // a port of the container → the one that it has here
  std::shared_ptr<ContainerInput> input;       // null: it has none
};

struct ContainerRuns {
  ContainerRun current;  // the last one, ended or not
  std::optional<ContainerRun> previous;
  std::shared_ptr<const ContainerPlace> place;  // of the current one while it runs
};

/// Bytes; 0 where there is no file yet.
std::uint64_t log_size(const std::filesystem::path& log);

/// Thread-safe. Pods are "namespace/name".
inline constexpr std::size_t kMaxContainers = 4096;  // beyond these, those that have ended are forgotten
class ContainerTable {
 public:
  /// Its output is what `log` has from `begin` on.
  void started(const std::string& pod, const std::string& pod_uid, const std::string& container, const std::filesystem::path& log,
               std::uint64_t begin, std::shared_ptr<const ContainerPlace> place = nullptr);
  void ended(const std::string& pod, const std::string& pod_uid, const std::string& container);
  /// All containers of the pod. They are remembered as long as there is room: a finished pod's log can be read.
  void ended(const std::string& pod, const std::string& pod_uid);
  /// The runs of a container of this very pod.
  std::optional<ContainerRuns> find(const std::string& pod, const std::string& pod_uid, const std::string& container) const;
  /// Of all containers of this very pod that run now.
  std::vector<std::shared_ptr<const ContainerPlace>> places(const std::string& pod, const std::string& pod_uid) const;

 private:
  using Key = std::pair<std::string, std::string>;  // pod, container

  mutable std::mutex mutex_;
  std::map<Key, ContainerRuns> runs_;
};

/// Where the output of a run ends, once that is known: what follows a log asks it.
std::function<std::optional<std::uint64_t>()> end_of_run(std::shared_ptr<const ContainerTable> containers, std::string pod,
                                                         std::string pod_uid, std::string container, ContainerRun run);

}  // namespace fleetadm::sandbox
