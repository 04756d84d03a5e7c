// The join command as a script: what it runs, and who may read it.
#include <filesystem>
#include <gtest/gtest.h>

#include "commands/fleet/bootstrap_token.h"
#include "kubeclient/config/files.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::commands {
namespace {

const JoinTicket kTicket{"https://hub:6443", "sha256:aa", "s3cr3t", "2026-03-01T11:00:00Z"};

TEST(JoinScript, HasTheTokenInNoArgument) {
  const std::string script = *join_script(kTicket);
  EXPECT_TRUE(script.starts_with("#!/bin/sh\n")) << script;
  EXPECT_NE(script.find("exec fleetadm join --hub-token-file - --hub-apiserver 'https://hub:6443' --ca-cert-hash sha256:aa "
                        "--cluster-name \"$name\" \"$@\" <<'END'\ns3cr3t\nEND\n"),
            std::string::npos)
      << script;
  JoinTicket trusted = kTicket;
  trusted.ca_pin.clear();
  EXPECT_NE(join_script(trusted)->find(" --system-roots "), std::string::npos);
  JoinTicket hostile = kTicket;
  hostile.hub_apiserver = "https://hub'; rm -rf /; '";
  EXPECT_FALSE(join_script(hostile));
}

TEST(JoinScript, IsItsOwnersAlone) {
  namespace fs = std::filesystem;
  const testkit::TemporaryFolder folder("script");
  const std::string path = folder.write("join.sh", std::string(10000, 'x'));
  fs::permissions(path, fs::perms::all);
  const auto api = testkit::FakeApi::make();
  testkit::FakeContext context(api->client());
  Report report;
  ASSERT_TRUE(write_join_script(context, path, kTicket, report));
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
  EXPECT_EQ(*kube::read_file(path), *join_script(kTicket)) << "nothing is left of what was there";
  ASSERT_EQ(report.lines.size(), 1U);
  EXPECT_EQ(report.lines[0].find("s3cr3t"), std::string::npos);
}

TEST(JoinScript, ADryRunWritesNone) {
  const testkit::TemporaryFolder folder("script");
  const std::string path = (folder.path() / "join.sh").string();
  auto gate = std::make_shared<kube::WriteGate>();
  gate->dry_run = kube::DryRun::kClient;
  testkit::FakeContext context(testkit::FakeApi::make()->client(gate));
  Report report;
  ASSERT_TRUE(write_join_script(context, path, kTicket, report));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(report.lines[0].ends_with("(dry run)"));
}

}  // namespace
}  // namespace fleetadm::commands
