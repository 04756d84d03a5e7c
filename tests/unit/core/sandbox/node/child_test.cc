#include "core/sandbox/node/child.h"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <future>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

#include "core/sandbox/node/reaper.h"

namespace fleetadm::sandbox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ChildSpec shell(std::string script) {
  return {.program = "/bin/sh", .args = {"-c", std::move(script)}, .environment = {"PATH=/usr/bin:/bin", "GREETING=hello"}};
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Child, GivesItsExitCode) {
  auto child = Child::start(shell("exit 7"));
  ASSERT_TRUE(child);
  const auto status = child->wait(seconds(10));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 7);
  EXPECT_EQ(status->signal, 0);
  EXPECT_EQ(child->wait(Duration::zero())->code, 7);  // remembered
}

TEST(Child, GivesTheSignalThatEndedIt) {
  auto child = Child::start(shell("kill -9 $$"));
  ASSERT_TRUE(child);
  const auto status = child->wait(seconds(10));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 137);
  EXPECT_EQ(status->signal, SIGKILL);
}

TEST(Child, SaysWhatCannotBeStarted) {
  const auto child = Child::start({.program = "/no/such/program"});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().category, Category::kNotFound);
  EXPECT_NE(child.error().message.find("/no/such/program"), std::string::npos);
}

TEST(Child, HasItsEnvironmentAndAppendsItsOutput) {
  const auto file = std::filesystem::temp_directory_path() / ("fleetadm-child-" + std::to_string(getpid()));
  for (int i = 0; i < 2; ++i) {
    ChildSpec spec = shell("echo $GREETING; echo $HOME >&2");
    spec.output_file = file.string();
    auto child = Child::start(spec);
    ASSERT_TRUE(child);
    ASSERT_TRUE(child->wait(seconds(10)));
  }
  EXPECT_EQ(text_of(file), "hello\n\nhello\n\n");
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::remove(file);
}

TEST(Child, IsStoppedGracefullyThenByForce) {
  const auto file = std::filesystem::temp_directory_path() / ("fleetadm-ready-" + std::to_string(getpid()));
  auto start = [&](const std::string& script) {
    std::filesystem::remove(file);
    auto child = Child::start(shell(script + "; touch " + file.string() + "; while :; do sleep 0.05; done"));
    while (child && !std::filesystem::exists(file)) std::this_thread::sleep_for(milliseconds(5));
    return child;
  };
  auto polite = start("trap 'exit 3' TERM");
  ASSERT_TRUE(polite);
  EXPECT_EQ(polite->stop(seconds(10)).code, 3);
  auto stubborn = start("trap '' TERM");
  ASSERT_TRUE(stubborn);
  EXPECT_EQ(stubborn->stop(milliseconds(100)).signal, SIGKILL);
  std::filesystem::remove(file);
}

TEST(Child, TakesItsOwnChildrenWithIt) {
  const auto file = std::filesystem::temp_directory_path() / ("fleetadm-grandchild-" + std::to_string(getpid()));
  pid_t grandchild = 0;
  {
    auto child = Child::start(shell("sleep 1000 & echo $! > " + file.string() + "; wait"));
    ASSERT_TRUE(child);
    for (int i = 0; i < 1000 && grandchild == 0; ++i) {
      std::istringstream(text_of(file)) >> grandchild;
      std::this_thread::sleep_for(milliseconds(5));
    }
    ASSERT_GT(grandchild, 0);
    EXPECT_EQ(kill(grandchild, 0), 0);
  }
  // Whoever adopts it may take a moment to bury it: a zombie counts as gone.
  bool gone = false;
  for (int i = 0; i < 1000 && !gone; ++i) {
    const std::string stat = text_of("/proc/" + std::to_string(grandchild) + "/stat");
    gone = stat.empty() || stat.find(") Z") != std::string::npos;
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_TRUE(gone);
  std::filesystem::remove(file);
}

TEST(Child, HoldsNothingOfItsParent) {
  const int leaked = ::open("/dev/null", O_RDONLY);  // not marked, as some libraries' sockets are not
  ASSERT_GT(leaked, 2);
  auto child = Child::start(shell("[ ! -e /proc/self/fd/" + std::to_string(leaked) + " ]"));
  ASSERT_TRUE(child);
  EXPECT_EQ(child->wait(seconds(10))->code, 0);
  ::close(leaked);
}

TEST(Child, ReadsAndWritesWhatItIsGiven) {
  int input[2] = {-1, -1};
  int output[2] = {-1, -1};
  ASSERT_EQ(::pipe2(input, O_CLOEXEC) + ::pipe2(output, O_CLOEXEC), 0);
  ChildSpec spec = shell("read word; echo got $word; echo wrong >&2");
  spec.descriptors = {input[0], output[1], output[1]};
  auto child = Child::start(spec);
  ASSERT_TRUE(child);
  ASSERT_EQ(::write(input[1], "it\n", 3), 3);
  EXPECT_EQ(child->wait(seconds(10))->code, 0);
  char text[64] = {};
  EXPECT_EQ(std::string(text, static_cast<std::size_t>(::read(output[0], text, sizeof(text)))), "got it\nwrong\n");
  for (const int fd : {input[0], input[1], output[0], output[1]}) ::close(fd);
}

TEST(Child, ShowsAFolderElsewhereWhereTheKernelAllowsIt) {
  if (geteuid() != 0) return;  // the environment override is what counts then
  const auto from = std::filesystem::temp_directory_path() / ("fleetadm-from-" + std::to_string(getpid()));
  const auto to = std::filesystem::temp_directory_path() / ("fleetadm-to-" + std::to_string(getpid()));
  std::filesystem::create_directories(from);
  std::filesystem::create_directories(to);
  std::ofstream(from / "file") << "there";
  ChildSpec spec = shell("cat " + (to / "file").string() + " || true");
  spec.mounts = {{.from = from.string(), .to = to.string()}};
  spec.output_file = (from / "out").string();
  auto child = Child::start(spec);
  ASSERT_TRUE(child);
  EXPECT_EQ(child->wait(seconds(10))->code, 0);
  EXPECT_FALSE(std::filesystem::exists(to / "file"));  // nothing is mounted for anyone else
  std::filesystem::remove_all(from);
  std::filesystem::remove_all(to);
}

TEST(Reaper, TellsWhenAProcessEnds) {
  Reaper reaper;
  std::promise<void> told;
  auto child = Child::start(shell("exit 0"));
  ASSERT_TRUE(child);
  reaper.watch(child->pidfd(), [&] { told.set_value(); });
  EXPECT_EQ(told.get_future().wait_for(seconds(10)), std::future_status::ready);
  EXPECT_FALSE(child->running());
}

}  // namespace
}  // namespace fleetadm::sandbox
