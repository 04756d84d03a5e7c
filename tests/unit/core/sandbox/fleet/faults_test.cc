// Faults on a cluster that serves, seen by a client of its own.
#include <gtest/gtest.h>
#include <thread>

#include "core/sandbox/fleet/cluster.h"
#include "core/sandbox/fleet/control.h"
#include "core/sandbox/fleet/operations.h"
#include "tests/support/https.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::sandbox {
namespace {

using namespace std::chrono_literals;
using testkit::https;

class ClusterFaults : public testing::Test {
 protected:
  void SetUp() override {
    auto started = Cluster::start(runtime_, {.name = "c1", .faults = board_});
    ASSERT_TRUE(started) << started.error().message;
    clusters_.push_back(std::move(*started));
    pki::LeafOptions leaf;
    leaf.subject = {"alice", {"system:masters"}, {}};
    leaf.client = true;
    leaf.validity = 30min;
    admin_ = *pki::issue(clusters_.front()->ca(), leaf);
  }
  void TearDown() override {
    clusters_.clear();
    runtime_.stop();
  }

  testkit::HttpsAnswer ask(const std::string& path, const std::string& method = "GET", const std::string& body = {},
                           long seconds = 10) {
    return https({.url = clusters_.front()->url() + path,
                  .method = method,
                  .body = body,
                  .ca = clusters_.front()->ca().certificate,
                  .certificate = admin_.certificate,
                  .key = admin_.key,
                  .timeout_seconds = seconds});
  }
  std::string add(const Json& fault) {
    const auto done = operations_.run({{"do", "fault-add"}, {"fault", fault}});
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
    return done ? str(*done, {"id"}) : std::string();
  }
  void clear() { ASSERT_TRUE(operations_.run({{"do", "fault-clear"}})); }

  serve::HttpRuntime runtime_{2};
  std::shared_ptr<FaultBoard> board_ = std::make_shared<FaultBoard>();
  std::vector<std::unique_ptr<Cluster>> clusters_;
  Operations operations_{board_, clusters_};
  pki::KeyPair admin_;
};

constexpr const char* kDefaultMaps = "/api/v1/namespaces/default/configmaps";

TEST_F(ClusterFaults, RefuseRequestsUntilTheyAreCleared) {
  add({{"kind", "429"}, {"amount", "3s"}, {"resources", {"configmaps"}}});
  const auto refused = ask(kDefaultMaps);
  EXPECT_EQ(refused.status, 429);
  const auto status = parse_json(refused.body);
  ASSERT_TRUE(status);
  EXPECT_EQ(str(*status, {"reason"}), "TooManyRequests");
  EXPECT_EQ(num(*status, {"details", "retryAfterSeconds"}), 3);
  EXPECT_EQ(ask("/api/v1/namespaces").status, 200);
  clear();
  EXPECT_EQ(ask(kDefaultMaps).status, 200);
  add({{"kind", "500"}, {"users", {"alice"}}, {"count", 1}});
  EXPECT_EQ(ask(kDefaultMaps).status, 500);
  EXPECT_EQ(ask(kDefaultMaps).status, 200);
}

TEST_F(ClusterFaults, RefuseWhatIsNoFaultOrNoCluster) {
  EXPECT_FALSE(operations_.run({{"do", "fault-add"}, {"fault", {{"kind", "500"}, {"clusters", {"c9"}}}}}));
  EXPECT_FALSE(operations_.run({{"do", "fault-add"}, {"fault", {{"kind", "plague"}}}}));
  EXPECT_FALSE(operations_.run({{"do", "something"}}));
  EXPECT_FALSE(operations_.run(Json::array()));
}

TEST_F(ClusterFaults, DelayAnswersWithoutHoldingWorkers) {
  add({{"kind", "latency"}, {"amount", "300ms"}, {"resources", {"configmaps"}}});
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::jthread> clients;  // more than there are workers
  for (int i = 0; i < 6; ++i) clients.emplace_back([&] { EXPECT_EQ(ask(kDefaultMaps).status, 200); });
  EXPECT_EQ(ask("/version").status, 200);
  clients.clear();
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_GE(took, 300ms);
  EXPECT_LT(took, 1500ms);
}

TEST_F(ClusterFaults, CutWatchesInTheMiddle) {
  add({{"kind", "cut"}, {"amount", "600ms"}, {"verbs", {"watch"}}});
  const auto began = std::chrono::steady_clock::now();
  const auto cut = ask(std::string(kDefaultMaps) + "?watch=1&timeoutSeconds=20", "GET", {}, 20);
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_GE(took, 600ms);
  EXPECT_LT(took, 8s);
  EXPECT_EQ(board_->list().front().strikes, 1);
}

TEST_F(ClusterFaults, PartitionAndHeal) {
  const auto id = add({{"kind", "partition"}});
  EXPECT_EQ(ask("/version").status, 0);
  ASSERT_TRUE(operations_.run({{"do", "fault-clear"}, {"ids", {id}}}));
  EXPECT_EQ(ask("/version").status, 200);
  add({{"kind", "partition"}, {"silent", true}});
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(ask("/version", "GET", {}, 1).status, 0);
  EXPECT_GE(std::chrono::steady_clock::now() - began, 900ms);  // nothing said no
  clear();
  EXPECT_EQ(ask("/version").status, 200);
}

TEST_F(ClusterFaults, ServeWithAnExpiredCertificate) {
  add({{"kind", "expired-certificate"}});
  EXPECT_EQ(ask("/version").status, 0);
  clear();
  EXPECT_EQ(ask("/version").status, 200);
}

TEST_F(ClusterFaults, StampAndJudgeByAWrongClock) {
  add({{"kind", "clock"}, {"amount", "-2m"}});
  const auto made = ask(kDefaultMaps, "POST", R"({"metadata":{"name":"late"}})");
  ASSERT_EQ(made.status, 201) << made.body;
  const auto stamped = parse_time(str(*parse_json(made.body), {"metadata", "creationTimestamp"}));
  ASSERT_TRUE(stamped);
  EXPECT_NEAR(std::chrono::duration<double>(Clock::system()->now() - *stamped).count(), 120, 20);
  clear();
  add({{"kind", "clock"}, {"amount", "1h"}});  // by then the client's certificate is over
  EXPECT_EQ(ask(kDefaultMaps).status, 401);
  clear();
  EXPECT_EQ(ask(kDefaultMaps).status, 200);
}

TEST_F(ClusterFaults, EndByThemselves) {
  testkit::TemporaryFolder folder("control");
  auto control = ControlServer::start(
      folder.path(), [&](const Json& request) { return operations_.run(request); }, [&] { return operations_.follow_faults(); });
  ASSERT_TRUE(control) << control.error().message;
  const auto added =
      control_call(folder.path(), {{"do", "fault-add"}, {"fault", {{"kind", "partition"}, {"lasts", "400ms"}}}}, 5s);
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_EQ(ask("/version").status, 0);
  const auto until = std::chrono::steady_clock::now() + 5s;
  int status = 0;
  while (status != 200 && std::chrono::steady_clock::now() < until) status = ask("/version").status;
  EXPECT_EQ(status, 200);
  const auto refused = control_call(folder.path(), {{"do", "fault-add"}, {"fault", {{"kind", "500"}, {"count", -1}}}}, 5s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().category, Category::kUsage);
  control->reset();
  EXPECT_FALSE(control_call(folder.path(), {{"do", "fault-list"}}, 1s));
}

TEST(Control, IsForTheOwnerOfADeepFolder) {
  testkit::TemporaryFolder folder("control");
  auto deep = folder.path();
  for (int i = 0; i < 6; ++i) deep /= std::string(30, 'd');  // longer than a socket's address
  std::filesystem::create_directories(deep);
  auto control = ControlServer::start(
      deep,
      [](const Json& request) -> Result<Json> {
        return Json{{"echo", request}};
      },
      [] { return std::nullopt; });
  ASSERT_TRUE(control) << control.error().message;
  const auto answer = control_call(deep, {{"a", std::string(300'000, 'x')}}, 5s);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(str(*answer, {"echo", "a"}).size(), 300'000U);
  EXPECT_EQ(std::filesystem::status(deep / "control").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

}  // namespace
}  // namespace fleetadm::sandbox
