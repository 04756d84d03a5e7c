// Where sandboxes live on this machine: one folder each, one background process each.
//
//   <home>/<name>/sandbox.json   clusters and their ports
//   <home>/<name>/process.lock   held by the process for as long as it lives; its pid and start time inside
//   <home>/<name>/kubeconfig     contexts <name>-hub, <name>-c1, …
//   <home>/<name>/<cluster>/     keys and objects (not of ephemeral ones)
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::sandbox {

/// A running process, told apart from another that got its number later.
struct ProcessIdentity {
  int pid = 0;
  std::string started;  // the kernel's start time of the process
  bool operator==(const ProcessIdentity&) const = default;
};
std::optional<ProcessIdentity> identify(int pid);

class SandboxHome {
 public:
  /// `root`: $FLEETADM_SANDBOX_DIR, else $XDG_STATE_HOME/fleetadm/sandbox, else ~/.local/state/fleetadm/sandbox.
  explicit SandboxHome(std::filesystem::path root) : root_(std::move(root)) {}
  static Result<SandboxHome> of(const std::string& override_dir, const std::string& state_home, const std::string& home);

  std::filesystem::path folder(const std::string& name) const { return root_ / name; }
  std::filesystem::path kubeconfig(const std::string& name) const { return folder(name) / "kubeconfig"; }
  std::filesystem::path log(const std::string& name) const { return folder(name) / "log"; }
  std::vector<std::string> names() const;
  /// sandbox.json; null where there is none.
  Json description(const std::string& name) const;
  Status write_description(const std::string& name, const Json& description) const;
  /// The process that serves it now.
  std::optional<ProcessIdentity> running(const std::string& name) const;
  /// SIGTERM, then SIGKILL after `patience`. Only the process that holds the lock is ever signalled.
  Status stop(const std::string& name, Duration patience) const;
  Status remove(const std::string& name) const;

 private:
  std::filesystem::path root_;
};

/// The lock of a serving process. kConflict where another holds it.
class ProcessLock {
 public:
  static Result<ProcessLock> take(const std::filesystem::path& file);
  ~ProcessLock();
  ProcessLock(ProcessLock&& other) noexcept;
  ProcessLock& operator=(ProcessLock&&) = delete;

 private:
  explicit ProcessLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

bool is_sandbox_name(std::string_view name);

}  // namespace fleetadm::sandbox
