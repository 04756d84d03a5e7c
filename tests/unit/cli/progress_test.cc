#include "cli/progress.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <utility>

#include "cli/render/cells.h"
#include "cli/terminal.h"

namespace fleetadm::cli {
namespace {

using std::chrono::seconds;

struct Screen {
  std::string text;
  std::size_t width = 20;
  std::chrono::steady_clock::time_point now;

  ProgressStyle style(bool rewrite, bool utf8 = true) {
    ProgressStyle out;
    out.rewrite = rewrite;
    out.utf8 = utf8;
    out.write = [this](std::string_view more) { text += more; };
    out.width = [this] { return width; };
    out.now = [this] { return now; };
    return out;
  }
  std::string taken() { return std::exchange(text, {}); }
};

/// Sets a variable for a test's time.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const char* value) { value == nullptr ? ::unsetenv(name_) : ::setenv(name_, value, 1); }
  const char* name_;
  std::optional<std::string> before_;
};

TEST(ProgressTest, ALongStatusLineIsCutToTheWidthOfEachDraw) {
  Screen screen;
  StepProgress progress(screen.style(true));
  progress.begin("Waiting");
  EXPECT_EQ(screen.taken(), "\r\x1b[K… Waiting");
  progress.note("cluster c1 is late");
  EXPECT_EQ(screen.taken(), "\r\x1b[K… Waiting: cluster…");
  screen.width = 12;
  progress.note("cluster c1 is late");
  EXPECT_EQ(screen.taken(), "\r\x1b[K… Waiting:…");
  screen.width = 0;  // unknown
  progress.note("cluster c1 is late");
  EXPECT_EQ(screen.taken(), "\r\x1b[K… Waiting: cluster c1 is late");
  progress.done("");
  EXPECT_EQ(screen.taken(), "\r\x1b[K✓ Waiting\n");
}

TEST(ProgressTest, TextIsCutByCells) {
  EXPECT_EQ(fit_cells("abcdef", 6, "…"), "abcdef");
  EXPECT_EQ(fit_cells("abcdef", 5, "…"), "abcd…");
  EXPECT_EQ(fit_cells("abcdef", 5, "..."), "ab...");
  EXPECT_EQ(fit_cells("日本語", 6, "…"), "日本語");
  EXPECT_EQ(fit_cells("日本語", 5, "…"), "日本…");
  EXPECT_EQ(fit_cells("日本語", 4, "…"), "日…");
  EXPECT_EQ(fit_cells("e\u0301e\u0301", 2, "…"), "e\u0301e\u0301");
  EXPECT_EQ(fit_cells("abc", 0, "…"), "");
}

TEST(ProgressTest, AStepAwayFromATerminalIsToldEveryTenSeconds) {
  Screen screen;
  StepProgress progress(screen.style(false));
  progress.tick();
  progress.begin("Waiting");
  progress.note("c1: not applied");
  screen.now += seconds(9);
  progress.tick();
  EXPECT_EQ(screen.taken(), "");
  screen.now += seconds(1);
  progress.tick();
  progress.tick();
  EXPECT_EQ(screen.taken(), "… Waiting: c1: not applied (10s)\n");
  screen.now += seconds(60);
  progress.tick();
  EXPECT_EQ(screen.taken(), "… Waiting: c1: not applied (1m10s)\n");
  progress.done("");
  screen.now += seconds(60);
  progress.tick();
  EXPECT_EQ(screen.taken(), "✓ Waiting\n");
}

TEST(ProgressTest, ASilentOneOnlyWarns) {
  Screen screen;
  ProgressStyle style = screen.style(false);
  style.silent = true;
  StepProgress progress(style);
  progress.begin("Waiting");
  screen.now += seconds(60);
  progress.tick();
  progress.say("something");
  progress.warn("late");
  progress.done("");
  EXPECT_EQ(screen.taken(), "warning: late\n");
}

TEST(ProgressTest, SignsAreAsciiWithoutUtf8) {
  Screen screen;
  StepProgress progress(screen.style(true, false));
  progress.begin("Waiting for the agents");
  EXPECT_EQ(screen.taken(), "\r\x1b[K... Waiting for ...");
  progress.failed("late");
  EXPECT_EQ(screen.taken(), "\r\x1b[Kfailed: Waiting for the agents: late\n");
  progress.begin("Next");
  screen.taken();
  progress.done("");
  EXPECT_EQ(screen.taken(), "\r\x1b[Kok: Next\n");
}

TEST(ProgressTest, TheLocaleIsTheFirstOneSet) {
  const Variable all("LC_ALL", nullptr);
  const Variable type("LC_CTYPE", nullptr);
  const Variable lang("LANG", nullptr);
  EXPECT_TRUE(locale_is_utf8());
  const Variable lang_set("LANG", "C");
  EXPECT_FALSE(locale_is_utf8());
  const Variable type_set("LC_CTYPE", "en_US.utf8");
  EXPECT_TRUE(locale_is_utf8());
  const Variable all_set("LC_ALL", "C");
  EXPECT_FALSE(locale_is_utf8());
}

TEST(ProgressTest, ColorMayBeForcedAndRefused) {
  constexpr int kNoTerminal = -1;
  const Variable no_color("NO_COLOR", nullptr);
  const Variable unforced("CLICOLOR_FORCE", nullptr);
  EXPECT_FALSE(use_color("auto", kNoTerminal));
  const Variable zero("CLICOLOR_FORCE", "0");
  EXPECT_FALSE(use_color("auto", kNoTerminal));
  const Variable forced("CLICOLOR_FORCE", "1");
  EXPECT_TRUE(use_color("auto", kNoTerminal));
  EXPECT_FALSE(use_color("never", kNoTerminal));
  const Variable refused("NO_COLOR", "1");
  EXPECT_FALSE(use_color("auto", kNoTerminal));
  EXPECT_TRUE(use_color("always", kNoTerminal));
}

}  // namespace
}  // namespace fleetadm::cli
