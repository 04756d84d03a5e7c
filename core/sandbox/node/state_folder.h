// Where a node keeps what its pods mount.
#pragma once

#include <filesystem>
#include <memory>

#include "kubeclient/base/result.h"

namespace fleetadm::sandbox {

/// A folder of this run, mode 0700, removed at its end: it holds tokens.
class StateFolder {
 public:
  static Result<std::unique_ptr<StateFolder>> make();
  explicit StateFolder(std::filesystem::path path) : path_(std::move(path)) {}
  ~StateFolder();
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace fleetadm::sandbox
