// What ./dev demo shows, to its end.
#include <filesystem>
#include <gtest/gtest.h>

#include "tests/support/fleet.h"
#include "tests/support/source_folder.h"

namespace fleetadm::testkit {
namespace {

TEST(Demo, RunsToItsEndAndLeavesNothing) {
  const TemporaryFolder folder("demo");
  const auto log = (folder.path() / "log").string();
  sandbox::ChildSpec spec;
  spec.program = source_folder() + "/tests/e2e/demo";
  spec.environment = {"FLEETADM_BINARY=" + Fleet::binary(), "FLEETADM_DEMO=" + folder.path().string(),
                      "HOME=" + folder.path().string(), "PATH=/usr/bin:/bin"};
  spec.output_file = log;
  auto child = sandbox::Child::start(spec);
  ASSERT_TRUE(child) << child.error().message;
  const auto ended = child->wait(std::chrono::minutes(4));
  const auto text = read_file(log);
  ASSERT_TRUE(ended) << text;
  EXPECT_EQ(ended->code, 0) << text;
  EXPECT_NE(text.find("== Nothing is left."), std::string::npos) << text;
  EXPECT_EQ(text.find("eyJ"), std::string::npos) << "no token is told";
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "sandboxes"));
}

}  // namespace
}  // namespace fleetadm::testkit
