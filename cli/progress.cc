#include "cli/progress.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <unistd.h>

#include "cli/render/cells.h"
#include "cli/terminal.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/log.h"

namespace fleetadm::cli {
struct StepProgress::State {
  explicit State(ProgressStyle how) : style(std::move(how)) {}

  std::string running() const {
    if (step.empty()) return (style.utf8 ? "… " : "... ") + wait;
    return (style.utf8 ? "… " : "... ") + step + (detail.empty() ? "" : ": " + detail);
  }
  void draw() {
    if (style.silent || !style.rewrite || (step.empty() && wait.empty())) return;
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
  std::string wait;  // for what; shown while no step is running
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

void StepProgress::waiting(std::string_view for_what) {
  const std::lock_guard lock(state_->mutex);
  state_->wait = for_what;
  if (state_->step.empty()) state_->draw();
}

void StepProgress::not_waiting() {
  const std::lock_guard lock(state_->mutex);
  if (state_->wait.empty()) return;
  state_->wait.clear();
  if (state_->step.empty()) state_->clear_line();
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

std::unique_ptr<StepProgress> make_progress(bool silent, bool color, bool terminal) {
  ProgressStyle style;
  style.silent = silent;
  style.color = color;
  style.rewrite = terminal && !terminal_is_dumb();
  style.utf8 = locale_is_utf8();
  style.write = [](std::string_view text) { write_all(STDERR_FILENO, text); };
  style.width = [] { return terminal_width(STDERR_FILENO); };
  style.now = [] { return std::chrono::steady_clock::now(); };
  if (silent || style.rewrite) return std::make_unique<StepProgress>(std::move(style));
  return std::make_unique<TimedProgress>(std::move(style));
}

}  // namespace fleetadm::cli
