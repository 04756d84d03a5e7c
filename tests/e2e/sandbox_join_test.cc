// `fleetadm sandbox up --join`: a fleet that works, in one command, on nothing but this binary.
#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>

#include "core/sandbox/fleet/home.h"
#include "tests/support/fleet.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kPageManifest = R"(apiVersion: v1
kind: ConfigMap
metadata: {name: page, namespace: default}
data: {index.html: hello}
)";

class SandboxJoin : public ::testing::Test {
 protected:
  SandboxJoin() {
    options_.environment["FLEETADM_SANDBOX_DIR"] = (folder_.path() / "sandboxes").string();
    options_.environment["KUBECONFIG"] = (folder_.path() / "sandboxes" / "sandbox" / "kubeconfig").string();
    options_.timeout = std::chrono::minutes(2);
  }
  ~SandboxJoin() override { run({"sandbox", "down"}); }
  Ran run(const std::vector<std::string>& args) const { return run_fleetadm(folder_, args, options_); }
  std::string on(const std::string& cluster) const { return "sandbox-" + cluster; }

  TemporaryFolder folder_{"sandbox-join"};
  RunOptions options_;
};

TEST_F(SandboxJoin, MakesAFleetThatWorks) {
  const Ran up = run({"sandbox", "up", "--clusters", "2", "--join", "--ephemeral"});
  ASSERT_EQ(up.code, 0) << up.both();
  EXPECT_EQ(up.both().find("hub-token"), std::string::npos) << "no secret is told";
  const Ran clusters = run({"get", "clusters", "--context", on("hub"), "-o", "json"});
  ASSERT_EQ(clusters.code, 0) << clusters.both();
  const Json list = clusters.json();
  ASSERT_EQ(list_at(list, {"items"}).size(), 2U) << clusters.both();
  for (const Json& cluster : list_at(list, {"items"})) {
    bool available = false;
    for (const Json& condition : list_at(cluster, {"status", "conditions"})) {
      available =
          available || (str(condition, {"type"}) == "ManagedClusterConditionAvailable" && str(condition, {"status"}) == "True");
    }
    EXPECT_TRUE(available) << dump_json(cluster);
  }
  const std::string file = folder_.write("page.yaml", kPageManifest);
  const Ran work = run({"work", "create", "page", "-f", file, "--clusters", "c1,c2", "--wait=applied", "--context", on("hub")});
  ASSERT_EQ(work.code, 0) << work.both();
  const Ran works = run({"work", "get", "--context", on("hub"), "-o", "json"});
  ASSERT_EQ(works.code, 0) << works.both();
  ASSERT_EQ(list_at(works.json(), {"items"}).size(), 2U) << works.both();
  // The policies that init installs are enforced: nobody without the right accepts a cluster.
  const Ran refused = run({"accept", "c3", "--yes", "--context", on("hub"), "--as", "nobody"});
  EXPECT_NE(refused.code, 0) << refused.both();
}

TEST_F(SandboxJoin, MakesAFleetWithAGateway) {
  const Ran up = run({"sandbox", "up", "--clusters", "1", "--join", "--gateway", "--ephemeral"});
  ASSERT_EQ(up.code, 0) << up.both();
  // By the commands alone: the sandbox's user may use its clusters.
  Ran list;
  EXPECT_TRUE(eventually(
      [&] {
        list = run({"get", "namespaces", "--all-clusters", "--context", on("hub"), "-o", "name"});
        return list.code == 0 && list.out.find("namespace/open-cluster-management-agent") != std::string::npos;
      },
      std::chrono::seconds(60)))
      << list.both();
}

TEST_F(SandboxJoin, JoinsASandboxThatRuns) {
  ASSERT_EQ(run({"sandbox", "up", "--clusters", "1", "--ephemeral"}).code, 0);
  const Ran other = run({"sandbox", "up", "--clusters", "2", "--join"});
  EXPECT_EQ(other.code, 1) << other.both();
  EXPECT_NE(other.err.find("with 1 spoke"), std::string::npos) << other.both();
  for (int time = 0; time < 2; ++time) {
    const Ran joined = run({"sandbox", "up", "--clusters", "1", "--join"});
    ASSERT_EQ(joined.code, 0) << joined.both();
  }
  EXPECT_NE(run({"get", "clusters", "--context", on("hub"), "--no-headers"}).out.find("True"), std::string::npos);
}

/// Of the process that serves the sandbox.
int server_threads(const TemporaryFolder& folder) {
  const auto serving = sandbox::SandboxHome(folder.path() / "sandboxes").running("sandbox");
  if (!serving) return -1;
  std::ifstream status("/proc/" + std::to_string(serving->pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  }
  return -1;
}

TEST_F(SandboxJoin, TwentyClustersJoinSideBySideOnNodesThatShareThreads) {
  const Ran up = run({"sandbox", "up", "--clusters", "20", "--join", "--ephemeral"});
  ASSERT_EQ(up.code, 0) << up.both();
  EXPECT_NE(up.err.find("joined 20 of 20"), std::string::npos) << up.err;
  EXPECT_NE(up.err.find("available 20 of 20"), std::string::npos) << up.err;
  const int threads = server_threads(folder_);
  EXPECT_GT(threads, 0);
  // On a busy machine the pools grow as far as they may: 56 threads for the nodes and 6 for requests, beside some for I/O and
  // time. Agents with threads of their own would be another hundred.
  EXPECT_LT(threads, 80);
  // What happens to one cluster's agent is nothing to the others'.
  const Ran unjoined = run({"unjoin", "--cluster-name", "c7", "--yes", "--context", on("c7"), "--hub-context", on("hub")});
  ASSERT_EQ(unjoined.code, 0) << unjoined.both();
  const Ran left = run({"get", "clusters", "--context", on("hub"), "--no-headers", "-o", "name"});
  EXPECT_EQ(std::count(left.out.begin(), left.out.end(), '\n'), 19) << left.both();
}

TEST_F(SandboxJoin, NeedsItsNodes) {
  const Ran refused = run({"sandbox", "up", "--join", "--nodes=false"});
  EXPECT_EQ(refused.code, 64) << refused.both();
  EXPECT_NE(refused.err.find("--nodes=false"), std::string::npos) << refused.both();
}

}  // namespace
}  // namespace fleetadm::testkit
