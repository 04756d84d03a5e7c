// A child process held by its pidfd: it never outlives this process (PR_SET_PDEATHSIG) nor its Child object. Linux 5.4+.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/result.h"

namespace fleetadm::sandbox {

/// A folder that the child sees at another place, in a mount namespace of its own.
struct BindMount {
  std::string from;
  std::string to;  // must exist
};

struct ChildSpec {
  std::string program;                   // a path
  std::vector<std::string> args;         // argv[1…]
  std::vector<std::string> environment;  // "NAME=value", complete
  std::string folder;                    // working folder; empty: this process's
  std::string output_file;               // stdout and stderr are appended to it (made with mode 0600); empty: /dev/null
  std::vector<BindMount> mounts;         // best effort: where the kernel refuses, the child starts without them
  /// Its stdin, stdout and stderr where they are not negative; else /dev/null and the output file. They stay the caller's.
  std::array<int, 3> descriptors = {-1, -1, -1};
  bool terminal = false;  // descriptors[0] is a terminal, and becomes the one that controls it
};

/// How a process ended.
struct ExitStatus {
  int code = 0;    // as a container's: 0–255, or 128 + signal
  int signal = 0;  // 0: it ended by itself
};

/// Movable, not thread-safe but for signal() and wait() from two threads. The destructor kills what still runs.
class Child {
 public:
  /// kNotFound or kInternal where the program cannot be started. The child has its own session, so that a terminal's Ctrl-C
  /// reaches only this process, which then stops its children in order.
  static Result<Child> start(const ChildSpec& spec);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  pid_t pid() const { return pid_; }
  /// Readable (poll) once the process has ended.
  int pidfd() const { return pidfd_; }
  void signal(int number) const;
  /// SIGTERM, once: a program may take a second one for "at once".
  void terminate();
  /// Waits up to `timeout` for the end; nullopt while it runs. Remembers the answer.
  std::optional<ExitStatus> wait(Duration timeout);
  bool running() { return !wait(Duration::zero()).has_value(); }
  /// terminate(), up to `grace`, then SIGKILL to the whole group of the child.
  ExitStatus stop(Duration grace);

 private:
  Child(pid_t pid, int pidfd) : pid_(pid), pidfd_(pidfd) {}
  void release() noexcept;

  pid_t pid_ = -1;
  int pidfd_ = -1;
  bool terminated_ = false;
  std::optional<ExitStatus> status_;
};

}  // namespace fleetadm::sandbox
