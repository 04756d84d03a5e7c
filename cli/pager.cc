#include "cli/pager.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/render/cells.h"
#include "cli/terminal.h"
#include "kubeclient/base/owned_fd.h"
#include "kubeclient/config/files.h"
#include "kubeclient/config/process.h"

extern char** environ;

namespace fleetadm::cli {
namespace {

constexpr std::string_view kDefaultPager = "less";

// An interrupt at the keyboard reaches the pager, too, and is meant for it.
class WithoutInterrupts {
 public:
  WithoutInterrupts() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGINT, &ignore, &interrupt_);
    ::sigaction(SIGQUIT, &ignore, &quit_);
  }
  WithoutInterrupts(const WithoutInterrupts&) = delete;
  WithoutInterrupts& operator=(const WithoutInterrupts&) = delete;
  ~WithoutInterrupts() {
    ::sigaction(SIGINT, &interrupt_, nullptr);
    ::sigaction(SIGQUIT, &quit_, nullptr);
  }

 private:
  struct sigaction interrupt_ {};
  struct sigaction quit_ {};
};

/// Starts the shell with `input` as its standard input; -1 where that fails.
pid_t start_pager(const std::string& pager, int input) {
  std::array<std::string, 3> words{"sh", "-c", pager};
  std::array<char*, 4> argv{words[0].data(), words[1].data(), words[2].data(), nullptr};
  std::string less = "LESS=FRX";  // ends where the text fits, shows colors, leaves the text on the screen
  std::vector<char*> variables;
  for (char** at = environ; *at != nullptr; ++at) variables.push_back(*at);
  if (kube::environment("LESS").empty()) variables.push_back(less.data());
  variables.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal : {SIGPIPE, SIGINT, SIGQUIT}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  if (::posix_spawn(&pid, "/bin/sh", &actions, &attributes, argv.data(), variables.data()) != 0) pid = -1;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

}  // namespace

bool prints_long_text(const commands::Command& command) {
  return command.path == "help" || command.path == "options" || command.path.ends_with(" describe");
}

bool refuses_pager(const std::vector<std::string>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::any_of(words.begin(), end,
                     [](const std::string& word) { return word == "--no-pager" || word == "--no-pager=true"; });
}

std::string pager_of(const commands::Settings& settings) {
  if (::isatty(STDOUT_FILENO) != 1 || terminal_is_dumb()) return {};
  const std::string pager = settings.find("pager")->text();
  if (pager == "cat") return {};
  if (!pager.empty()) return pager;
  return kube::find_executable(kDefaultPager, kube::environment("PATH"));
}

bool fits(std::string_view text, std::size_t rows, std::size_t columns) {
  std::size_t lines = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::size_t width = text_width(text.substr(0, end));
    lines += std::max<std::size_t>(1, (width + columns - 1) / columns);
    if (lines >= rows) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

bool fits_screen(std::string_view text) {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return true;
  return fits(text, size.ws_row, size.ws_col);
}

bool show_in_pager(std::string_view text, const std::string& pager) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  OwnedFd reader(ends[0]);
  OwnedFd writer(ends[1]);
  const WithoutInterrupts without_interrupts;
  const pid_t pid = start_pager(pager, reader.get());
  if (pid < 0) return false;
  reader = OwnedFd();
  write_all(writer.get(), text);  // false where the pager was left early
  writer = OwnedFd();
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return !WIFEXITED(status) || WEXITSTATUS(status) == 0;
}

}  // namespace fleetadm::cli
