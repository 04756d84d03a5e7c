// When a text needs a pager, and what a pager's end means.
#include "cli/pager.h"

#include <csignal>
#include <gtest/gtest.h>

namespace fleetadm::cli {
namespace {

TEST(PagerTest, ATextFitsWithThePromptBelowIt) {
  EXPECT_TRUE(fits("", 2, 10));
  EXPECT_TRUE(fits("a\nb\n", 3, 10));
  EXPECT_FALSE(fits("a\nb\n", 2, 10));
  EXPECT_TRUE(fits("0123456789\n", 2, 10));
  EXPECT_FALSE(fits("0123456789a\n", 2, 10)) << "a long line takes two";
}

TEST(PagerTest, OnlyAFailedPagerHasNotShownTheText) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::string text(1U << 20U, 'x');
  EXPECT_TRUE(show_in_pager(text, "cat >/dev/null"));
  EXPECT_TRUE(show_in_pager(text, "exit 0")) << "left early";
  EXPECT_TRUE(show_in_pager(text, "kill -TERM $$")) << "somebody ended it";
  EXPECT_FALSE(show_in_pager(text, "exit 3"));
  EXPECT_FALSE(show_in_pager(text, "exec no-such-pager 2>/dev/null"));
}

TEST(PagerTest, WordsMayRefuseIt) {
  EXPECT_TRUE(refuses_pager({"help", "--no-pager"}));
  EXPECT_TRUE(refuses_pager({"--no-pager=true", "help"}));
  EXPECT_FALSE(refuses_pager({"--no-pager=false", "help"}));
  EXPECT_FALSE(refuses_pager({"help", "--", "--no-pager"}));
}

}  // namespace
}  // namespace fleetadm::cli
