// One thread that calls functions at their time, for all clusters of a process.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "core/sandbox/controllers/manager.h"

namespace fleetadm::sandbox {

class Timers {
 public:
  Timers();
  /// Forgets what is still to come, and waits for the task that runs, unless it is this one.
  ~Timers();
  Timers(const Timers&) = delete;
  Timers& operator=(const Timers&) = delete;

  /// Any thread. The task runs on the timers' thread and must not block.
  void after(Duration wait, std::function<void()> task);
  /// The same as a value that does not keep the timers alive.
  static RunAfter of(const std::shared_ptr<Timers>& timers);

 private:
  struct State;
  static void run(State& state);
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace fleetadm::sandbox
