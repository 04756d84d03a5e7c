#include "cli/terminal.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <sys/ioctl.h>
#include <system_error>
#include <unistd.h>

#include "cli/signals.h"
#include "kubeclient/base/log.h"

namespace fleetadm::cli {
namespace {

constexpr std::size_t kMaxStdin = 64U << 20U;
constexpr std::size_t kStdinChunk = 1U << 20U;
constexpr int kLookForInterruptMs = 100;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

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

bool ProcessTerminal::write_stderr(std::string_view text) { return write_all(STDERR_FILENO, text); }

bool use_color(std::string_view color, int fd) {
  if (color == "always") return true;
  if (color == "never") return false;
  if (!variable("NO_COLOR").empty()) return false;
  if (const std::string_view force = variable("CLICOLOR_FORCE"); !force.empty() && force != "0") return true;
  return ::isatty(fd) == 1 && !terminal_is_dumb();
}

std::size_t terminal_width(int fd) {
  std::size_t columns = 0;
  const std::string_view set = variable("COLUMNS");
  const auto [end, error] = std::from_chars(set.data(), set.data() + set.size(), columns);
  if (error == std::errc{} && end == set.data() + set.size() && columns > 0) return columns;
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool terminal_is_dumb() { return variable("TERM") == "dumb"; }

bool locale_is_utf8() {
  std::string_view locale;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (locale = variable(name); !locale.empty()) break;
  // Without any setting, as in many containers and CI systems, the reader is a log that takes UTF-8.
  if (locale.empty()) return true;
  std::string lower(locale);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos;
}

std::string for_locale(std::string text) {
  constexpr std::string_view kEllipsis = "\xE2\x80\xA6";
  if (locale_is_utf8()) return text;
  for (std::size_t at = 0; (at = text.find(kEllipsis, at)) != std::string::npos; at += 3)
    text.replace(at, kEllipsis.size(), "...");
  return text;
}

}  // namespace fleetadm::cli
