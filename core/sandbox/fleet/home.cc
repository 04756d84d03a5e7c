#include "core/sandbox/fleet/home.h"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <sstream>
#include <thread>
#include <unistd.h>

#include "kubeclient/base/clock.h"
#include "kubeclient/config/files.h"

namespace fleetadm::sandbox {
namespace {

namespace fs = std::filesystem;
constexpr auto kStep = std::chrono::milliseconds(20);

Status replace_file(const fs::path& file, const std::string& text) {
  const auto part = file.string() + ".part";
  const int descriptor = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) return fail(Category::kInternal, "cannot write " + part);
  const auto count = ::write(descriptor, text.data(), text.size());
  ::close(descriptor);
  if (count != static_cast<ssize_t>(text.size()) || ::rename(part.c_str(), file.c_str()) != 0)
    return fail(Category::kInternal, "cannot write " + file.string());
  return {};
}

struct flock whole_file() {
  struct flock out {};
  out.l_type = F_WRLCK;
  out.l_whence = SEEK_SET;
  return out;
}

}  // namespace

bool is_sandbox_name(std::string_view name) {
  return !name.empty() && name.size() <= 40 && name.front() != '-' && name.back() != '-' &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

std::optional<ProcessIdentity> identify(int pid) {
  if (pid <= 0) return std::nullopt;
  // Of the first thread: under qemu-user a process does not read in its own /proc/PID/stat what others read there.
  const auto number = std::to_string(pid);
  const auto stat = kube::read_file("/proc/" + number + "/task/" + number + "/stat").value_or(std::string());
  // The name in parentheses may hold blanks; the start time is the 20th field after it.
  const auto end = stat.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  std::istringstream fields(stat.substr(end + 1));
  std::string field;
  for (int i = 0; i < 20; ++i) fields >> field;
  if (!fields) return std::nullopt;
  return ProcessIdentity{pid, field};
}

Result<SandboxHome> SandboxHome::of(const std::string& override_dir, const std::string& state_home, const std::string& home) {
  if (!override_dir.empty()) return SandboxHome(override_dir);
  if (!state_home.empty()) return SandboxHome(fs::path(state_home) / "fleetadm" / "sandbox");
  if (home.empty())
    return fail(Category::kUsage, "there is no home folder to keep sandboxes in", "set HOME or FLEETADM_SANDBOX_DIR");
  return SandboxHome(fs::path(home) / ".local" / "state" / "fleetadm" / "sandbox");
}

std::vector<std::string> SandboxHome::names() const {
  std::vector<std::string> out;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(root_, failed)) {
    auto name = entry.path().filename().string();
    if (is_sandbox_name(name) && fs::exists(entry.path() / "sandbox.json", failed)) out.push_back(std::move(name));
  }
  std::sort(out.begin(), out.end());
  return out;
}

Json SandboxHome::description(const std::string& name) const {
  auto parsed = parse_json(kube::read_file(folder(name) / "sandbox.json").value_or(std::string()));
  return parsed ? std::move(*parsed) : Json();
}

Status SandboxHome::write_description(const std::string& name, const Json& description) const {
  std::error_code failed;
  fs::create_directories(folder(name), failed);
  fs::permissions(folder(name), fs::perms::owner_all, failed);
  if (failed) return fail(Category::kInternal, "cannot make " + folder(name).string() + ": " + failed.message());
  return replace_file(folder(name) / "sandbox.json", dump_json_pretty(description) + "\n");
}

std::optional<ProcessIdentity> SandboxHome::running(const std::string& name) const {
  const auto file = folder(name) / "process.lock";
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  // Asked, not tried: a try would be in the way of a process that starts just now.
  struct flock question = whole_file();
  const bool asked = ::fcntl(descriptor, F_OFD_GETLK, &question) == 0;
  ::close(descriptor);
  if (!asked || question.l_type == F_UNLCK) return std::nullopt;
  const auto parsed = parse_json(kube::read_file(file).value_or(std::string()));
  if (!parsed) return std::nullopt;
  const ProcessIdentity written{static_cast<int>(num(*parsed, {"pid"})), str(*parsed, {"started"})};
  const auto now = identify(written.pid);
  return now == written ? now : std::nullopt;
}

Status SandboxHome::stop(const std::string& name, Duration patience) const {
  const auto process = running(name);
  if (!process) return {};
  const auto until = std::chrono::steady_clock::now() + patience;
  ::kill(process->pid, SIGTERM);
  while (identify(process->pid) == process && running(name)) {
    if (std::chrono::steady_clock::now() > until) {
      if (identify(process->pid) == process) ::kill(process->pid, SIGKILL);
      break;
    }
    std::this_thread::sleep_for(kStep);
  }
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (running(name) && std::chrono::steady_clock::now() < last) std::this_thread::sleep_for(kStep);
  if (running(name)) return fail(Category::kTimeout, "the process of sandbox \"" + name + "\" does not end");
  return {};
}

Status SandboxHome::remove(const std::string& name) const {
  std::error_code failed;
  fs::remove_all(folder(name), failed);
  if (failed) return fail(Category::kInternal, "cannot remove " + folder(name).string() + ": " + failed.message());
  return {};
}

Result<ProcessLock> ProcessLock::take(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return fail(Category::kInternal, "cannot open " + file.string());
  ProcessLock lock(descriptor);
  struct flock wanted = whole_file();
  if (::fcntl(descriptor, F_OFD_SETLK, &wanted) != 0) return fail(Category::kConflict, "another process serves this sandbox");
  const auto self = identify(::getpid());
  const auto text = dump_json({{"pid", ::getpid()}, {"started", self ? self->started : std::string()}}) + "\n";
  if (::ftruncate(descriptor, 0) != 0 || ::pwrite(descriptor, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return fail(Category::kInternal, "cannot write " + file.string());
  }
  return lock;
}

ProcessLock::~ProcessLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}
ProcessLock::ProcessLock(ProcessLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

}  // namespace fleetadm::sandbox
