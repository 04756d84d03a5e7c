#include "core/sandbox/node/process_end.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include "core/sandbox/node/environment.h"
#include "core/sandbox/node/tar_names.h"

namespace fleetadm::sandbox {
namespace {

using ProcessClock = std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(500);  // whether the container still lives
constexpr char kEndOfText = 4;                          // what a terminal takes for the end of its input

tl::unexpected<Error> descriptor_error(const char* what) {
  return fail(Category::kInternal, std::string(what) + ": " + std::strerror(errno));
}

/// Descriptors of a command: those of the child, which are closed here once it has them, and ours.
struct CommandFds {
  OwnedFd child_input, child_output, child_errors;
  OwnedFd input, output, errors;  // with a terminal, input and output are one, and only `output` is set
};

Status make_pipe(OwnedFd& reading, OwnedFd& writing, const OwnedFd& ours) {
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return descriptor_error("pipe");
  reading = OwnedFd(ends[0]);
  writing = OwnedFd(ends[1]);
  if (!serve::set_nonblocking(ours.get())) return descriptor_error("fcntl");
  return {};
}

Status make_terminal(CommandFds& fds) {
  fds.output = OwnedFd(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  std::array<char, 128> name{};
  if (!fds.output || grantpt(fds.output.get()) != 0 || unlockpt(fds.output.get()) != 0 ||
      ptsname_r(fds.output.get(), name.data(), name.size()) != 0 || !serve::set_nonblocking(fds.output.get()))
    return descriptor_error("a terminal");
  fds.child_input = OwnedFd(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!fds.child_input) return descriptor_error("a terminal");
  return {};
}

Result<CommandFds> make_fds(const serve::ChannelsWanted& wanted) {
  CommandFds fds;
  if (wanted.terminal) {
    FLEETADM_CHECK(make_terminal(fds));
    return fds;
  }
  if (wanted.input) FLEETADM_CHECK(make_pipe(fds.child_input, fds.input, fds.input));
  if (wanted.output) FLEETADM_CHECK(make_pipe(fds.output, fds.child_output, fds.output));
  if (wanted.errors) FLEETADM_CHECK(make_pipe(fds.errors, fds.child_errors, fds.errors));
  return fds;
}

class ProcessEnd final : public serve::ExecTarget {
 public:
  ProcessEnd(Child child, CommandFds fds, bool terminal, std::function<bool()> lives)
      : input_(std::move(fds.input)),
        output_(std::move(fds.output)),
        errors_(std::move(fds.errors)),
        child_(std::move(child)),
        terminal_(terminal),
        lives_(std::move(lives)) {}

  void begin(const serve::WatchDescriptor& watch) override {
    if (!watch) return;
    if (input_) input_watch_ = watch(input_.get());
    if (output_) output_watch_ = watch(output_.get());
    if (errors_) errors_watch_ = watch(errors_.get());
    end_watch_ = watch(child_.pidfd());
    if (end_watch_) end_watch_->await_readable();
  }

  std::size_t take_input(std::string_view bytes) override {
    const OwnedFd& to = terminal_ ? output_ : input_;
    if (!to || bytes.empty()) return bytes.size();
    std::size_t taken = 0;
    const serve::FdResult result = serve::write_some(to.get(), bytes, taken);
    if (result == serve::FdResult::kGone) return bytes.size();  // it reads no more
    const auto& watch = terminal_ ? output_watch_ : input_watch_;
    if (taken < bytes.size() && watch) watch->await_writable();
    return taken;
  }

  void end_input() override {
    std::size_t taken = 0;
    if (terminal_ && output_) serve::write_some(output_.get(), {&kEndOfText, 1}, taken);
    input_watch_.reset();
    input_.close();
  }

  void resize(int columns, int rows) override {
    if (!terminal_ || columns <= 0 || rows <= 0) return;
    winsize size{};
    size.ws_col = static_cast<unsigned short>(std::min(columns, 0xffff));
    size.ws_row = static_cast<unsigned short>(std::min(rows, 0xffff));
    ioctl(output_.get(), TIOCSWINSZ, &size);
  }

  serve::BodyStream::More read(serve::Channel channel, std::string& into, std::size_t most) override {
    // Asked before the output is read: all that it wrote is there then, whoever else still holds the pipe.
    const bool ended = has_ended();
    const OwnedFd& from = channel == serve::Channel::kOutput ? output_ : errors_;
    const auto& watch = channel == serve::Channel::kOutput ? output_watch_ : errors_watch_;
    const serve::FdResult result = from ? serve::read_some(from.get(), into, most) : serve::FdResult::kGone;
    if (result == serve::FdResult::kSome) return serve::BodyStream::More::kYes;
    if (ended) return serve::BodyStream::More::kEnd;
    // A command may close its output and go on: it is over when the process is.
    if (result == serve::FdResult::kLater && watch) watch->await_readable();
    return serve::BodyStream::More::kLater;
  }

  Json outcome() override { return serve::exit_status(how_ ? how_->code : 128 + SIGKILL); }

 private:
  bool has_ended() {
    if (how_) return true;
    how_ = child_.wait(Duration::zero());
    const auto now = ProcessClock::now();
    if (!how_ && now - looked_ > kLook) {
      looked_ = now;
      if (!lives_()) child_.signal(SIGKILL);
    }
    return how_.has_value();
  }

  // Watches end before what they watch is closed: they are declared after it.
  OwnedFd input_;
  OwnedFd output_;
  OwnedFd errors_;
  Child child_;
  const bool terminal_;
  const std::function<bool()> lives_;
  std::optional<ExitStatus> how_;
  ProcessClock::time_point looked_ = ProcessClock::now();
  std::unique_ptr<serve::DescriptorWatch> input_watch_;
  std::unique_ptr<serve::DescriptorWatch> output_watch_;
  std::unique_ptr<serve::DescriptorWatch> errors_watch_;
  std::unique_ptr<serve::DescriptorWatch> end_watch_;
};

std::string value_in(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& variable : environment) {
    if (variable.size() > name.size() && variable.starts_with(name) && variable[name.size()] == '=')
      return variable.substr(name.size() + 1);
  }
  return {};
}

}  // namespace

std::string find_program(const std::string& word, const std::vector<std::string>& environment) {
  if (word.empty() || word.find('/') != std::string::npos) return word;
  const std::string path = value_in(environment, "PATH");
  for (std::string_view rest = path; !rest.empty();) {
    const auto colon = rest.find(':');
    const std::string file = std::string(rest.substr(0, colon)) + "/" + word;
    std::error_code ignored;
    if (access(file.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(file, ignored)) return file;
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  return {};
}

Result<std::unique_ptr<serve::ExecTarget>> start_command(const ContainerPlace& place, const std::vector<std::string>& command,
                                                         const serve::ChannelsWanted& wanted, std::function<bool()> lives) {
  if (command.empty()) return fail(Category::kUsage, "a command is needed");
  ChildSpec spec;
  bool relocated = false;
  for (const std::string& word : command) {
    std::string moved = relocate(word, place.folders);
    relocated = relocated || moved != word;
    spec.args.push_back(renumber(moved, place.ports));
  }
  spec.program =
      image_base(command.front()) == "fleetadm" ? place.executable : find_program(spec.args.front(), place.environment);
  spec.args.erase(spec.args.begin());
  if (spec.program.empty())
    return fail(Category::kNotFound, "exec: \"" + command.front() + "\": executable file not found in $PATH");
  spec.environment = place.environment;
  if (relocated) spec.environment.push_back("TAR_OPTIONS=" + tar_options(place.folders));
  if (wanted.terminal && value_in(spec.environment, "TERM").empty()) spec.environment.emplace_back("TERM=xterm");
  spec.folder = place.folder;
  spec.mounts = place.mounts;
  FLEETADM_TRY(CommandFds fds, make_fds(wanted));
  const int terminal = wanted.terminal ? fds.child_input.get() : -1;
  spec.descriptors = {fds.child_input.get(), wanted.terminal ? terminal : fds.child_output.get(),
                      wanted.terminal ? terminal : fds.child_errors.get()};
  spec.terminal = wanted.terminal;
  FLEETADM_TRY(Child child, Child::start(spec));
  for (OwnedFd* given : {&fds.child_input, &fds.child_output, &fds.child_errors}) given->close();
  return std::make_unique<ProcessEnd>(std::move(child), std::move(fds), wanted.terminal, std::move(lives));
}

}  // namespace fleetadm::sandbox
