// Commands that go on until they are stopped, in a process that runs many of them.
#pragma once

#include <memory>
#include <string>

#include "core/controller/worker_pool.h"

namespace fleetadm::commands {

/// Owns no thread. The destructor stops it; its requests end at once where its context's stop token is set before.
class Program {
 public:
  virtual ~Program() = default;
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
};

/// What the process lends a program.
struct Hosting {
  std::shared_ptr<controller::WorkerPool> pool;
  std::string log_file;  // its log lines are appended to it; empty: stderr
};

}  // namespace fleetadm::commands
