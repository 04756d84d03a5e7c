#include "cli/terminal.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <poll.h>
#include <unistd.h>

#include "cli/signals.h"
#include "kubeclient/base/log.h"

namespace fleetadm::cli {
namespace {

constexpr std::size_t kMaxStdin = 64U << 20U;
constexpr std::size_t kStdinChunk = 1U << 20U;
constexpr int kLookForInterruptMs = 100;

class ProcessProgress final : public commands::Progress {
 public:
  ProcessProgress(bool silent, bool color, bool terminal) : silent_(silent), color_(color), terminal_(terminal && !silent) {}
  ~ProcessProgress() override {
    const std::lock_guard lock(mutex_);
    clear_line();
  }

  void begin(std::string_view step) override {
    const std::lock_guard lock(mutex_);
    step_ = log::escape_terminal(step);
    detail_.clear();
    draw();
  }
  void note(std::string_view detail) override {
    const std::lock_guard lock(mutex_);
    detail_ = log::escape_terminal(detail);
    draw();
  }
  void done(std::string_view outcome) override { finish(color_ ? "\x1b[32m✓\x1b[0m " : "✓ ", outcome); }
  void failed(std::string_view why) override { finish(color_ ? "\x1b[31m✗\x1b[0m " : "✗ ", why); }
  void warn(std::string_view text) override {
    const std::lock_guard lock(mutex_);
    clear_line();
    write_all(STDERR_FILENO, std::string(color_ ? "\x1b[33mwarning:\x1b[0m " : "warning: ") + log::escape_terminal(text) + "\n");
    draw();
  }
  void say(std::string_view text) override {
    if (silent_) return;
    const std::lock_guard lock(mutex_);
    clear_line();
    write_all(STDERR_FILENO, log::escape_terminal(text) + "\n");
    draw();
  }

 private:
  void finish(std::string_view mark, std::string_view outcome) {
    const std::lock_guard lock(mutex_);
    clear_line();
    if (!silent_ && !step_.empty())
      write_all(STDERR_FILENO, std::string(mark) + step_ + (outcome.empty() ? "" : ": " + log::escape_terminal(outcome)) + "\n");
    step_.clear();
    detail_.clear();
  }
  void draw() {
    if (!terminal_ || step_.empty()) return;
    write_all(STDERR_FILENO, "\r\x1b[K… " + step_ + (detail_.empty() ? "" : ": " + detail_));
    drawn_ = true;
  }
  void clear_line() {
    if (drawn_) write_all(STDERR_FILENO, "\r\x1b[K");
    drawn_ = false;
  }

  std::mutex mutex_;
  bool silent_;
  bool color_;
  bool terminal_;
  bool drawn_ = false;
  std::string step_;
  std::string detail_;
};

}  // namespace

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) {
        pollfd wait{fd, POLLOUT, 0};
        ::poll(&wait, 1, 1000);
        continue;
      }
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool ProcessTerminal::interactive() const { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1; }

bool ProcessTerminal::stdout_is_terminal() const { return ::isatty(STDOUT_FILENO) == 1; }

Result<bool> ProcessTerminal::confirm(std::string_view question) {
  if (!interactive())
    return fail(Category::kUsage, "confirmation needed, but there is no terminal: " + log::escape_terminal(question),
                "use --yes to skip the confirmation");
  write_all(STDERR_FILENO, log::escape_terminal(question) + " [y/N] ");
  std::string answer;
  char c = 0;
  // An interrupted read would be begun again (SA_RESTART): what is waited with is a poll that looks for the interrupt.
  const std::stop_token stop = stop_on_signals();
  while (answer.size() < 64) {
    pollfd wait{STDIN_FILENO, POLLIN, 0};
    const int ready = ::poll(&wait, 1, kLookForInterruptMs);
    if (stop.stop_requested()) {
      write_all(STDERR_FILENO, "\n");
      return fail(Category::kCancelled, "cancelled");
    }
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t count = ::read(STDIN_FILENO, &c, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || c == '\n') break;
    answer += c;
  }
  return answer == "y" || answer == "Y" || answer == "yes" || answer == "Yes";
}

Result<std::string> ProcessTerminal::read_stdin() {
  std::string text;
  char buffer[65536];
  while (true) {
    const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (count == 0) return text;
    if (count < 0) {
      if (errno == EINTR) continue;
      return fail(Category::kUsage, std::string("cannot read standard input: ") + std::strerror(errno));
    }
    text.append(buffer, static_cast<std::size_t>(count));
    if (text.size() > kMaxStdin) return fail(Category::kUsage, "standard input is longer than 64 MiB");
  }
}

Result<commands::Terminal::Input> ProcessTerminal::read_stdin_some(std::string& into, Duration patience) {
  const auto wait_ms = std::chrono::duration_cast<std::chrono::milliseconds>(patience).count();
  pollfd wait{STDIN_FILENO, POLLIN, 0};
  const int ready = ::poll(&wait, 1, static_cast<int>(std::clamp<std::int64_t>(wait_ms, 0, 60'000)));
  if (ready == 0 || (ready < 0 && errno == EINTR)) return Input::kNothingYet;
  const std::size_t before = into.size();
  into.resize(before + kStdinChunk);
  const ssize_t count = ::read(STDIN_FILENO, into.data() + before, kStdinChunk);
  const int error = errno;
  into.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  if (count > 0) return Input::kMore;
  if (count == 0) return Input::kEnd;
  if (error == EINTR || error == EAGAIN) return Input::kNothingYet;
  return fail(Category::kUsage, std::string("cannot read standard input: ") + std::strerror(error));
}

bool ProcessTerminal::write_stdout(std::string_view text) { return write_all(STDOUT_FILENO, text); }

bool use_color(std::string_view color, int fd) {
  if (color == "always") return true;
  if (color == "never") return false;
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  return ::isatty(fd) == 1 && (term == nullptr || std::string_view(term) != "dumb");
}

std::unique_ptr<commands::Progress> make_progress(bool silent, bool color, bool terminal) {
  return std::make_unique<ProcessProgress>(silent, color, terminal);
}

}  // namespace fleetadm::cli
