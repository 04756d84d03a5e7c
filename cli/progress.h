// The steps of a command on stderr.
#pragma once

#include <functional>
#include <memory>

#include "commands/framework/context.h"

namespace fleetadm::cli {

/// What a Progress writes to, and how.
struct ProgressStyle {
  bool silent = false;   // warnings only
  bool color = false;    // color codes in signs
  bool rewrite = false;  // the running step is one line that is rewritten in place; else it is told now and then
  bool utf8 = true;      // else signs are ASCII
  std::function<void(std::string_view)> write;                 // to stderr
  std::function<std::size_t()> width;                          // cells of a line, asked at each draw; 0: unknown
  std::function<std::chrono::steady_clock::time_point()> now;  // of a monotonic clock
  std::chrono::seconds tell_every = std::chrono::seconds(10);  // where nothing is rewritten
};

/// A line per finished step. While a step runs: on a terminal its line, cut to the width; elsewhere a line each time that tick()
/// finds the last one `tell_every` ago.
class StepProgress : public commands::Progress {
 public:
  explicit StepProgress(ProgressStyle style);
  ~StepProgress() override;
  StepProgress(const StepProgress&) = delete;
  StepProgress& operator=(const StepProgress&) = delete;

  void begin(std::string_view step) override;
  void note(std::string_view detail) override;
  void done(std::string_view outcome) override;
  void failed(std::string_view why) override;
  void warn(std::string_view text) override;
  void say(std::string_view text) override;

  /// Shows that something is waited for, or erases it; only where steps are rewritten in place, and none is running.
  void waiting(std::string_view for_what);
  void not_waiting();

  /// Tells that the running step goes on, if it is time to. From any thread.
  void tick();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A StepProgress on the process's stderr: rewritten in place on a `terminal` other than TERM=dumb, else told by a timer.
std::unique_ptr<StepProgress> make_progress(bool silent, bool color, bool terminal);

}  // namespace fleetadm::cli
