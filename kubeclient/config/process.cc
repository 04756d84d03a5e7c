#include "kubeclient/config/process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "kubeclient/base/owned_fd.h"

extern char** environ;

namespace fleetadm::kube {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

class Actions {
 public:
  Actions() { posix_spawn_file_actions_init(&raw); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  ~Actions() { posix_spawn_file_actions_destroy(&raw); }
  posix_spawn_file_actions_t raw{};
};

class Attributes {
 public:
  Attributes() { posix_spawnattr_init(&raw); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { posix_spawnattr_destroy(&raw); }
  posix_spawnattr_t raw{};
};

class Pipe {
 public:
  Pipe() { good_ = ::pipe2(ends_.data(), O_CLOEXEC) == 0; }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  bool good() const { return good_; }
  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  int release_read_end() { return std::exchange(ends_[0], -1); }
  void close_end(std::size_t which) {
    if (good_ && ends_[which] >= 0) ::close(ends_[which]);
    ends_[which] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
  bool good_ = false;
};

// A child that is killed and reaped whatever happens to its keeper.
class Child {
 public:
  Child(pid_t pid, bool own_group) : pid_(pid), own_group_(own_group) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ <= 0) return;
    kill();
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  void kill() const { ::kill(own_group_ ? -pid_ : pid_, SIGKILL); }
  bool ended() {
    if (pid_ <= 0) return true;
    if (::waitpid(pid_, &status_, WNOHANG) != pid_) return false;
    pid_ = -1;
    return true;
  }
  int exit_code() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_); }

 private:
  pid_t pid_;
  bool own_group_;
  int status_ = 0;
};

std::vector<std::string> merged_environment(const std::vector<std::pair<std::string, std::string>>& extra) {
  std::vector<std::string> out;
  for (char** at = environ; *at != nullptr; ++at) out.emplace_back(*at);
  // Each name once, the last one counts: of two entries most programs would see the first.
  for (const auto& [name, value] : extra) {
    const std::string begin = name + "=";
    std::erase_if(out, [&](const std::string& entry) { return entry.starts_with(begin); });
    out.push_back(begin + value);
  }
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

enum class Read { kAgain, kEnd, kTooMuch };
Read drain(int from, std::string& output, std::size_t limit) {
  std::array<char, 16384> buffer{};
  const ssize_t count = ::read(from, buffer.data(), buffer.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN ? Read::kAgain : Read::kEnd;
  if (count == 0) return Read::kEnd;
  output.append(buffer.data(), static_cast<std::size_t>(count));
  return output.size() > limit ? Read::kTooMuch : Read::kAgain;
}

/// The end of a pipe from which a text can be read that was written before; none where it is empty. No one waits for the other: a
/// pipe holds more than that.
Result<OwnedFd> written_input(std::string_view text) {
  constexpr std::size_t kMost = std::size_t{32} * 1024;
  if (text.empty()) return OwnedFd();
  if (text.size() > kMost) return fail(Category::kInternal, "a program's input is too long");
  Pipe pipe;
  if (!pipe.good() || ::write(pipe.write_end(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail(Category::kInternal, "no pipe: " + std::error_code(errno, std::generic_category()).message());
  return OwnedFd(pipe.release_read_end());
}

bool is_executable_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::vector<std::string> absolute_folders(std::string_view path) {
  std::vector<std::string> folders;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find(':'), path.size());
    std::string folder(path.substr(0, end));
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    if (folder.starts_with('/') && std::find(folders.begin(), folders.end(), folder) == folders.end())
      folders.push_back(std::move(folder));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return folders;
}

std::string find_executable(std::string_view name, std::string_view path) {
  if (name.empty() || name.find('/') != std::string_view::npos) return {};
  for (const std::string& folder : absolute_folders(path)) {
    const std::filesystem::path file = std::filesystem::path(folder) / name;
    if (is_executable_file(file)) return file.string();
  }
  return {};
}

Result<ProcessResult> run_process(const ProcessOptions& options) {
  Pipe pipe;
  if (!pipe.good()) return fail(Category::kInternal, "no pipe: " + std::error_code(errno, std::generic_category()).message());
  Actions actions;
  posix_spawn_file_actions_adddup2(&actions.raw, pipe.write_end(), STDOUT_FILENO);
  FLEETADM_TRY(const OwnedFd input, written_input(options.input));
  if (input) {
    posix_spawn_file_actions_adddup2(&actions.raw, input.get(), STDIN_FILENO);
  } else if (!options.keep_stdin) {
    posix_spawn_file_actions_addopen(&actions.raw, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  Attributes attributes;
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigmask(&attributes.raw, &none);
  posix_spawnattr_setsigdefault(&attributes.raw, &defaults);
  // A group of its own lets the deadline reach its children; with the terminal it must stay in the foreground's group.
  const bool own_group = !options.keep_stdin;
  posix_spawnattr_setpgroup(&attributes.raw, 0);
  const int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (own_group ? POSIX_SPAWN_SETPGROUP : 0);
  posix_spawnattr_setflags(&attributes.raw, static_cast<short>(flags));

  std::vector<std::string> arguments = {options.command};
  arguments.insert(arguments.end(), options.args.begin(), options.args.end());
  std::vector<std::string> environment = merged_environment(options.env);
  auto argv = pointers(arguments);
  auto envp = pointers(environment);
  pid_t pid = -1;
  const int failure = ::posix_spawnp(&pid, options.command.c_str(), &actions.raw, &attributes.raw, argv.data(), envp.data());
  if (failure != 0) {
    return fail(failure == ENOENT ? Category::kNotFound : Category::kUsage,
                "running " + options.command + ": " + std::error_code(failure, std::generic_category()).message());
  }
  Child child(pid, own_group);
  pipe.close_end(1);
  ::fcntl(pipe.read_end(), F_SETFL, O_NONBLOCK);

  ProcessResult result;
  const SteadyTime deadline = std::chrono::steady_clock::now() + options.timeout;
  bool open = true;
  bool ended = false;
  // The program's end counts, not the pipe's: something that it left running may hold the pipe open.
  while (open || !ended) {
    if (options.stop.stop_requested()) return fail(Category::kCancelled, options.command + " was ended");
    if (std::chrono::steady_clock::now() >= deadline) {
      return fail(Category::kTimeout, options.command + " did not end within " + format_duration(options.timeout));
    }
    if (open) {
      pollfd ready{pipe.read_end(), POLLIN, 0};
      ::poll(&ready, 1, ended ? 0 : 20);
      const Read read = ready.revents == 0 ? Read::kAgain : drain(pipe.read_end(), result.output, options.max_output);
      if (read == Read::kTooMuch)
        return fail(Category::kInvalid, options.command + " wrote more than " + std::to_string(options.max_output) + " bytes");
      if (read == Read::kEnd || (ended && ready.revents == 0)) open = false;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ended = ended || child.ended();
  }
  result.exit_code = child.exit_code();
  return result;
}

}  // namespace fleetadm::kube
