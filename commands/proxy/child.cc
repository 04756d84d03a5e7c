#include "commands/proxy/child.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <spawn.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

extern char** environ;

namespace fleetadm::commands {
namespace {

std::string errno_text() { return std::error_code(errno, std::generic_category()).message(); }

std::atomic<pid_t> foreground_child = 0;
std::atomic<int> kept_signal = 0;  // that nobody has handed on yet
static_assert(std::atomic<pid_t>::is_always_lock_free && std::atomic<int>::is_always_lock_free, "a signal handler uses them");

/// What came while the child was being started is for it, too. Whoever comes second, the signal or the child, sends it.
void hand_on_kept() {
  const pid_t child = foreground_child;
  if (child <= 0) return;
  if (const int signal = kept_signal.exchange(0); signal != 0) ::kill(child, signal);
}

void hand_on(int signal) {
  const int saved = errno;
  kept_signal = signal;
  hand_on_kept();
  errno = saved;
}

/// While it lives, signals are the child's. A shell sends an interrupt of the terminal to both.
class SignalsHandedOn {
 public:
  SignalsHandedOn() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      struct sigaction action {};
      action.sa_handler = kSignals[i] == SIGINT || kSignals[i] == SIGQUIT ? SIG_IGN : hand_on;
      action.sa_flags = SA_RESTART;
      sigemptyset(&action.sa_mask);
      ::sigaction(kSignals[i], &action, &before_[i]);
    }
  }
  ~SignalsHandedOn() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  SignalsHandedOn(const SignalsHandedOn&) = delete;
  SignalsHandedOn& operator=(const SignalsHandedOn&) = delete;

 private:
  static constexpr std::array<int, 4> kSignals = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
  std::array<struct sigaction, 4> before_{};
};

/// Signals as a program expects to find them.
class ForegroundAttributes {
 public:
  ForegroundAttributes() {
    posix_spawnattr_init(&raw_);
    sigset_t none;
    sigset_t defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (const int signal : {SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigmask(&raw_, &none);
    posix_spawnattr_setsigdefault(&raw_, &defaults);
    posix_spawnattr_setflags(&raw_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~ForegroundAttributes() { posix_spawnattr_destroy(&raw_); }
  ForegroundAttributes(const ForegroundAttributes&) = delete;
  ForegroundAttributes& operator=(const ForegroundAttributes&) = delete;
  const posix_spawnattr_t* get() const { return &raw_; }

 private:
  posix_spawnattr_t raw_{};
};

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::string> out;
  for (char** at = environ; *at != nullptr; ++at) out.emplace_back(*at);
  for (const auto& [name, value] : more) {
    const std::string begin = name + "=";
    std::erase_if(out, [&](const std::string& entry) { return entry.starts_with(begin); });
    out.push_back(begin + value);
  }
  return out;
}

std::vector<char*> as_pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

Result<SecretFile> SecretFile::with(std::string_view content) {
  // No MFD_CLOEXEC: the program that is started inherits it.
  OwnedFd file(::memfd_create("fleetadm-kubeconfig", 0));
  if (!file || ::fchmod(file.get(), S_IRUSR | S_IWUSR) != 0)
    return fail(Category::kInternal, "no memory file for the kubeconfig: " + errno_text());
  while (!content.empty()) {
    const ssize_t count = ::write(file.get(), content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return fail(Category::kInternal, "writing the kubeconfig: " + errno_text());
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return SecretFile(std::move(file));
}

std::string SecretFile::path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }

Result<int> run_in_foreground(const Child& child) {
  std::vector<std::string> arguments = {child.program};
  arguments.insert(arguments.end(), child.args.begin(), child.args.end());
  std::vector<std::string> environment = environment_with(child.env);
  auto argv = as_pointers(arguments);
  auto envp = as_pointers(environment);
  const ForegroundAttributes attributes;
  kept_signal = 0;
  const SignalsHandedOn handed_on;
  pid_t pid = -1;
  const int failure = ::posix_spawn(&pid, child.program.c_str(), nullptr, attributes.get(), argv.data(), envp.data());
  if (failure != 0)
    return fail(Category::kUsage,
                "cannot run " + child.program + ": " + std::error_code(failure, std::generic_category()).message());
  foreground_child = pid;
  hand_on_kept();
  siginfo_t seen{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &seen, WEXITED | WNOWAIT) < 0 && errno == EINTR) continue;
  foreground_child = 0;  // before its number can be another's
  int status = 0;
  pid_t ended = -1;
  do {
    ended = ::waitpid(pid, &status, 0);
  } while (ended < 0 && errno == EINTR);
  if (ended != pid) return fail(Category::kInternal, "waiting for " + child.program + ": " + errno_text());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace fleetadm::commands
