#include "core/sandbox/node/child.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <linux/close_range.h>
#include <mutex>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace fleetadm::sandbox {
namespace {

// The kernel sends the parent-death signal when the *thread* that forked ends. So all forks of the process happen on one
// thread that lives as long as the process does.
class Forker {
 public:
  static Forker& shared() {
    static Forker forker;
    return forker;
  }

  void run(const std::function<void()>& work) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return work_ == nullptr; });
    work_ = &work;
    const std::uint64_t ticket = ++asked_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return done_ >= ticket; });
  }

 private:
  Forker() : thread_([this](const std::stop_token& stop) { loop(stop); }) {}

  void loop(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [&] { return work_ != nullptr; })) {
      (*work_)();
      work_ = nullptr;
      ++done_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  const std::function<void()>* work_ = nullptr;
  std::uint64_t asked_ = 0;
  std::uint64_t done_ = 0;
  std::jthread thread_;  // last: it starts in the constructor
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// What the child needs between fork and exec, made before the fork: only system calls are safe there.
struct Prepared {
  std::string program;
  std::vector<std::string> args;
  std::vector<std::string> environment;
  std::vector<char*> argv;
  std::vector<char*> envp;
  const ChildSpec* spec = nullptr;
  const char* output = nullptr;
  pid_t parent = 0;
};

void mount_folders(const std::vector<BindMount>& mounts) {
  if (mounts.empty() || unshare(CLONE_NEWNS) != 0) return;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
  for (const BindMount& bind : mounts) mount(bind.from.c_str(), bind.to.c_str(), nullptr, MS_BIND, nullptr);
}

/// What others of this process have open is not the child's: libraries do not mark all of their sockets. (Linux 5.11; before it,
/// those that are marked are closed.)
void keep_descriptors() { syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC); }

[[noreturn]] void become(const Prepared& prepared, int report) {
  auto give_up = [report] {
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(report, &error, sizeof error);
    _exit(127);
  };
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != prepared.parent) _exit(127);  // the parent ended before the line above
  setsid();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD}) std::signal(number, SIG_DFL);
  const auto& given = prepared.spec->descriptors;
  const int input = given[0] >= 0 ? given[0] : open("/dev/null", O_RDONLY | O_CLOEXEC);
  const bool all_given = given[1] >= 0 && given[2] >= 0;
  const int output = all_given ? given[1] : open(prepared.output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (input < 0 || output < 0) give_up();
  if (dup2(input, 0) < 0 || dup2(given[1] >= 0 ? given[1] : output, 1) < 0 || dup2(given[2] >= 0 ? given[2] : output, 2) < 0)
    give_up();
  if (prepared.spec->terminal && ioctl(0, TIOCSCTTY, 0) != 0) give_up();
  keep_descriptors();
  mount_folders(prepared.spec->mounts);
  if (!prepared.spec->folder.empty() && chdir(prepared.spec->folder.c_str()) != 0) give_up();
  execve(prepared.program.c_str(), prepared.argv.data(), prepared.envp.data());
  give_up();
  _exit(127);
}

}  // namespace

Result<Child> Child::start(const ChildSpec& spec) {
  Prepared prepared;
  prepared.spec = &spec;
  prepared.program = spec.program;
  prepared.args.push_back(spec.program);
  prepared.args.insert(prepared.args.end(), spec.args.begin(), spec.args.end());
  prepared.environment = spec.environment;
  prepared.argv = pointers(prepared.args);
  prepared.envp = pointers(prepared.environment);
  prepared.output = spec.output_file.empty() ? "/dev/null" : spec.output_file.c_str();
  prepared.parent = getpid();

  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail(Category::kInternal, "pipe: " + std::string(std::strerror(errno)));
  pid_t pid = -1;
  int fork_error = 0;
  Forker::shared().run([&] {
    pid = fork();
    if (pid == 0) become(prepared, ends[1]);
    fork_error = errno;
  });
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return fail(Category::kInternal, "fork: " + std::string(std::strerror(fork_error)));
  }
  Child child(pid, static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  int error = 0;
  ssize_t got = 0;
  do got = read(ends[0], &error, sizeof error);
  while (got < 0 && errno == EINTR);
  close(ends[0]);
  if (got > 0) {
    child.wait(std::chrono::seconds(5));
    return fail(error == ENOENT ? Category::kNotFound : Category::kInternal,
                "cannot start " + spec.program + ": " + std::strerror(error));
  }
  if (child.pidfd_ < 0) return fail(Category::kInternal, "pidfd_open: the kernel has none (Linux 5.4 is needed)");
  return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::exchange(other.pidfd_, -1)),
      terminated_(other.terminated_),
      status_(std::exchange(other.status_, {})) {}

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    release();
    pid_ = std::exchange(other.pid_, -1);
    pidfd_ = std::exchange(other.pidfd_, -1);
    terminated_ = other.terminated_;
    status_ = std::exchange(other.status_, {});
  }
  return *this;
}

Child::~Child() { release(); }

void Child::release() noexcept {
  if (pid_ > 0 && !status_) {
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (pidfd_ >= 0) close(pidfd_);
  pid_ = pidfd_ = -1;
}

void Child::signal(int number) const {
  if (pidfd_ >= 0) syscall(SYS_pidfd_send_signal, pidfd_, number, nullptr, 0);
}

std::optional<ExitStatus> Child::wait(Duration timeout) {
  if (status_ || pid_ <= 0) return status_;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd ready{.fd = pidfd_, .events = POLLIN, .revents = 0};
    const int count = pidfd_ < 0 ? 1 : poll(&ready, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
    if (count > 0) break;
    if (left <= 0) return std::nullopt;
  }
  kill(-pid_, SIGKILL);  // what it left behind in its session; the zombie still keeps the number ours
  int raw = 0;
  pid_t got = 0;
  do got = waitpid(pid_, &raw, 0);
  while (got < 0 && errno == EINTR);
  ExitStatus status;
  if (got > 0 && WIFSIGNALED(raw)) {
    status.signal = WTERMSIG(raw);
    status.code = 128 + status.signal;
  } else if (got > 0) {
    status.code = WEXITSTATUS(raw);
  }
  status_ = status;
  return status_;
}

void Child::terminate() {
  if (!std::exchange(terminated_, true)) signal(SIGTERM);
}

ExitStatus Child::stop(Duration grace) {
  terminate();
  if (const auto ended = wait(grace)) return *ended;
  signal(SIGKILL);
  return wait(std::chrono::seconds(10)).value_or(ExitStatus{.code = 128 + SIGKILL, .signal = SIGKILL});
}

}  // namespace fleetadm::sandbox
