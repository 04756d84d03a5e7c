// How other commands talk to the process that serves a sandbox: a socket in the sandbox's folder, which only its owner can
// open. One JSON text each way, a connection a call.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::sandbox {

inline constexpr std::size_t kMaxControlBytes = 256UL * 1024 * 1024;

class ControlServer {
 public:
  using Handler = std::function<Result<Json>(const Json& request)>;
  /// When to call `tick` next; none: only after the next request.
  using Tick = std::function<std::optional<std::chrono::steady_clock::time_point>()>;

  /// Serves on a thread of its own, where `handle` and then `tick` run. A socket that an ended process left is replaced.
  static Result<std::unique_ptr<ControlServer>> start(const std::filesystem::path& folder, Handler handle, Tick tick);
  ~ControlServer();  // removes the socket
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

 private:
  struct Inner;
  explicit ControlServer(std::unique_ptr<Inner> inner);
  std::unique_ptr<Inner> inner_;
};

/// The answer of the process that serves the sandbox of this folder. Errors come as it made them; kUnavailable where none
/// serves, kTimeout after `patience`.
Result<Json> control_call(const std::filesystem::path& folder, const Json& request, Duration patience);

}  // namespace fleetadm::sandbox
