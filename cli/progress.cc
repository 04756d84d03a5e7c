#include "cli/progress.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>

#include "cli/terminal.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/log.h"

namespace fleetadm::cli {
namespace {

struct CellRange {
  char32_t first;
  char32_t last;
};

constexpr std::array kNoCell = {CellRange{0x300, 0x36F},   CellRange{0x1AB0, 0x1AFF}, CellRange{0x200B, 0x200F},
                                CellRange{0x20D0, 0x20FF}, CellRange{0xFE00, 0xFE0F}, CellRange{0xFE20, 0xFE2F}};
constexpr std::array kTwoCells = {CellRange{0x1100, 0x115F}, CellRange{0x2E80, 0xA4CF},   CellRange{0xAC00, 0xD7A3},
                                  CellRange{0xF900, 0xFAFF}, CellRange{0xFE30, 0xFE6F},   CellRange{0xFF00, 0xFF60},
                                  CellRange{0xFFE0, 0xFFE6}, CellRange{0x1F300, 0x1FAFF}, CellRange{0x20000, 0x3FFFD}};

template <std::size_t kCount>
bool among(const std::array<CellRange, kCount>& ranges, char32_t point) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const CellRange& range) { return range.first <= point && point <= range.last; });
}

std::size_t cells_of(char32_t point) { return among(kNoCell, point) ? 0 : among(kTwoCells, point) ? 2 : 1; }

/// The code point at the beginning of `text` (not empty), which is taken off it with its continuation bytes.
char32_t take_point(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text.front());
  char32_t point = lead < 0x80 ? lead : lead < 0xE0 ? lead & 0x1FU : lead < 0xF0 ? lead & 0x0FU : lead & 0x07U;
  text.remove_prefix(1);
  while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0U) == 0x80U) {
    point = (point << 6U) | (static_cast<unsigned char>(text.front()) & 0x3FU);
    text.remove_prefix(1);
  }
  return point;
}

std::size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

std::string fit_cells(std::string_view text, std::size_t cells, std::string_view more) {
  const std::size_t room = cells - std::min(cells, more.starts_with("\xE2") ? std::size_t{1} : more.size());
  std::size_t used = 0;
  std::size_t fitting = 0;  // bytes that leave room for `more`
  std::string_view rest = text;
  while (!rest.empty()) {
    used += cells_of(take_point(rest));
    if (used <= room) fitting = text.size() - rest.size();
  }
  if (used <= cells) return std::string(text);
  return room == 0 ? std::string() : std::string(text.substr(0, fitting)) + std::string(more);
}

struct StepProgress::State {
  explicit State(ProgressStyle how) : style(std::move(how)) {}

  std::string running() const { return (style.utf8 ? "… " : "... ") + step + (detail.empty() ? "" : ": " + detail); }
  void draw() {
    if (style.silent || !style.rewrite || step.empty()) return;
    const std::size_t width = style.width();
    // The last cell stays free: terminals differ in when they wrap.
    style.write("\r\x1b[K" + (width == 0 ? running() : fit_cells(running(), width - 1, style.utf8 ? "…" : "...")));
    drawn = true;
  }
  void clear_line() {
    if (drawn) style.write("\r\x1b[K");
    drawn = false;
  }
  void line(const std::string& text) {
    clear_line();
    style.write(text + "\n");
    draw();
  }
  void finish(std::string_view color, std::string_view sign, std::string_view outcome) {
    const std::lock_guard lock(mutex);
    clear_line();
    if (!style.silent && !step.empty()) {
      const std::string mark = style.color ? std::string(color) + std::string(sign) + "\x1b[0m " : std::string(sign) + " ";
      style.write(mark + step + (outcome.empty() ? "" : ": " + log::escape_terminal(outcome)) + "\n");
    }
    step.clear();
    detail.clear();
  }

  ProgressStyle style;
  std::mutex mutex;
  bool drawn = false;
  std::string step;
  std::string detail;
  std::chrono::steady_clock::time_point begun;
  std::chrono::steady_clock::time_point told;
};

StepProgress::StepProgress(ProgressStyle style) : state_(std::make_unique<State>(std::move(style))) {}

StepProgress::~StepProgress() {
  const std::lock_guard lock(state_->mutex);
  state_->clear_line();
}

void StepProgress::begin(std::string_view step) {
  const std::lock_guard lock(state_->mutex);
  state_->step = log::escape_terminal(step);
  state_->detail.clear();
  state_->begun = state_->told = state_->style.now();
  state_->draw();
}

void StepProgress::note(std::string_view detail) {
  const std::lock_guard lock(state_->mutex);
  state_->detail = log::escape_terminal(detail);
  state_->draw();
}

void StepProgress::done(std::string_view outcome) { state_->finish("\x1b[32m", state_->style.utf8 ? "✓" : "ok:", outcome); }

void StepProgress::failed(std::string_view why) { state_->finish("\x1b[31m", state_->style.utf8 ? "✗" : "failed:", why); }

void StepProgress::warn(std::string_view text) {
  const std::lock_guard lock(state_->mutex);
  state_->line((state_->style.color ? "\x1b[33mwarning:\x1b[0m " : "warning: ") + log::escape_terminal(text));
}

void StepProgress::say(std::string_view text) {
  const std::lock_guard lock(state_->mutex);
  state_->told = state_->style.now();
  if (!state_->style.silent) state_->line(log::escape_terminal(text));
}

void StepProgress::tick() {
  const std::lock_guard lock(state_->mutex);
  State& state = *state_;
  if (state.style.silent || state.style.rewrite || state.step.empty()) return;
  const auto now = state.style.now();
  if (now - state.told < state.style.tell_every) return;
  state.told = now;
  const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(now - state.begun);
  state.style.write(state.running() + " (" + format_duration(elapsed) + ")\n");
}

namespace {

/// Ticks by itself: who waits for a server's events has no tick of its own.
class TimedProgress final : public StepProgress {
 public:
  explicit TimedProgress(ProgressStyle style)
      : StepProgress(std::move(style)), timer_([this](const std::stop_token& stop) { run(stop); }) {}

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      wake_.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
      if (!stop.stop_requested()) tick();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread timer_;  // the last member: it uses the others
};

}  // namespace

std::unique_ptr<commands::Progress> make_progress(bool silent, bool color, bool terminal) {
  ProgressStyle style;
  style.silent = silent;
  style.color = color;
  style.rewrite = terminal && !terminal_is_dumb();
  style.utf8 = locale_is_utf8();
  style.write = [](std::string_view text) { write_all(STDERR_FILENO, text); };
  style.width = terminal_width;
  style.now = [] { return std::chrono::steady_clock::now(); };
  if (silent || style.rewrite) return std::make_unique<StepProgress>(std::move(style));
  return std::make_unique<TimedProgress>(std::move(style));
}

}  // namespace fleetadm::cli
