// What counts as free, and the scores of it.
#include "core/addon/score/usage.h"

#include <gtest/gtest.h>
#include <thread>

#include "core/addon/score/publisher.h"
#include "core/api/kinds.h"
#include "tests/support/fake_api.h"

namespace fleetadm::addon {
namespace {

using namespace std::chrono_literals;

constexpr double kGi = 1024.0 * 1024 * 1024;

Json container_asking(const char* cpu, const char* memory) {
  return {{"name", "a"}, {"resources", {{"requests", {{"cpu", cpu}, {"memory", memory}}}}}};
}

Json pod_on(const char* node, Json containers) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", "p"}, {"namespace", "default"}}},
          {"spec", {{"nodeName", node}, {"containers", std::move(containers)}}},
          {"status", {{"phase", "Running"}}}};
}

Json node_with(const char* name, const char* cpu, const char* memory) {
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata", {{"name", name}}},
          {"spec", Json::object()},
          {"status", {{"allocatable", {{"cpu", cpu}, {"memory", memory}}}}}};
}

TEST(FreeScore, IsTheShareOfTheMostThatIsAssumed) {
  EXPECT_EQ(free_score(12.9, 100), 12) << "the example of 12 free cores";
  EXPECT_EQ(free_score(46.98 * kGi, kMostFree.memory), 4);
  EXPECT_EQ(free_score(100, 100), 100);
  EXPECT_EQ(free_score(250, 100), 100);
  EXPECT_EQ(free_score(99.999, 100), 99);
  EXPECT_EQ(free_score(0.5, 100), 0);
  EXPECT_EQ(free_score(0, 100), -100);
  EXPECT_EQ(free_score(-3, 100), -100);
}

TEST(Usage, CountsAsTheSchedulerDoes) {
  Json pod = pod_on("n1", Json::array({container_asking("500m", "1Gi"), container_asking("1", "1Gi")}));
  EXPECT_EQ(held_by(pod), (Resources{1.5, 2 * kGi}));
  pod["spec"]["initContainers"] = Json::array({container_asking("2", "512Mi")});
  EXPECT_EQ(held_by(pod), (Resources{2, 2 * kGi})) << "an init container runs before the others";
  Json sidecar = container_asking("1", "1Gi");
  sidecar["restartPolicy"] = "Always";
  pod["spec"]["initContainers"] = Json::array({sidecar, container_asking("2", "512Mi")});
  EXPECT_EQ(held_by(pod), (Resources{3, 3 * kGi})) << "a sidecar runs beside both";
  pod["spec"]["overhead"] = {{"cpu", "100m"}};
  EXPECT_DOUBLE_EQ(held_by(pod).cpu, 3.1);
  for (const char* phase : {"Succeeded", "Failed"}) {
    Json ended = pod;
    ended["status"]["phase"] = phase;
    EXPECT_EQ(held_by(ended), Resources{});
  }
  pod["spec"].erase("nodeName");
  EXPECT_EQ(held_by(pod), Resources{});
}

TEST(Usage, OddInputIsNothing) {
  EXPECT_EQ(held_by(Json()), Resources{});
  EXPECT_EQ(offered_by(Json::array()), Resources{});
  EXPECT_EQ(used_by({{"usage", {{"cpu", "x"}, {"memory", Json::array()}}}}), Resources{});
  EXPECT_EQ(offered_by({{"status", {{"allocatable", {{"cpu", 4}}}}}}), (Resources{4, 0}));
  Json cordoned = node_with("n1", "4", "8Gi");
  cordoned["spec"]["unschedulable"] = true;
  EXPECT_EQ(offered_by(cordoned), Resources{});
}

TEST(Scores, AreValidWellPastTheNextRefresh) {
  const Instant now = *parse_time("2026-01-01T00:00:00Z");
  const Json status = score_status({12, 46 * kGi}, {}, now);
  EXPECT_EQ(str(status, {"validUntil"}), "2026-01-01T00:03:00Z");
  EXPECT_EQ(list_at(status, {"scores"}),
            Json::array({{{"name", "cpuAvailable"}, {"value", 12}}, {{"name", "memAvailable"}, {"value", 4}}}));
  EXPECT_FALSE(is_stale(status, status, {}, now + 30s));
  EXPECT_TRUE(is_stale(status, status, {}, now + 60s));
  EXPECT_TRUE(is_stale(status, score_status({13, 46 * kGi}, {}, now), {}, now + 1s)) << "a change is published at once";
  EXPECT_TRUE(is_stale(Json(), status, {}, now));
}

class ScorePublisher : public ::testing::Test {
 protected:
  std::int64_t published(const char* score) const {
    const auto live = hub->get(api::addon_placement_scores(), "c1", "resource-usage-score");
    if (!live) return -1000;
    for (const Json& one : list_at(*live, {"status", "scores"})) {
      if (str(one, {"name"}) == score) return num(one, {"value"});
    }
    return -1000;
  }
  bool becomes(const char* score, std::int64_t value) const {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (published(score) != value) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(5ms);
    }
    return true;
  }
  void run() {
    PublisherOptions options;
    options.cluster = "c1";
    add_score_publisher(manager, hub->client(), spoke->client(), options);
    running = std::jthread([this](std::stop_token stop) { static_cast<void>(manager.run(stop)); });
  }

  std::shared_ptr<testkit::FakeApi> hub = testkit::FakeApi::make();
  std::shared_ptr<testkit::FakeApi> spoke = testkit::FakeApi::make();
  controller::Manager manager{{}};
  std::jthread running;
};

TEST_F(ScorePublisher, FollowsNodesAndPods) {
  spoke->put(kube::resources::nodes(), node_with("n1", "20", "512Gi"));
  spoke->put(kube::resources::pods(), pod_on("n1", Json::array({container_asking("5", "256Gi")})));
  run();
  EXPECT_TRUE(becomes("cpuAvailable", 15));
  EXPECT_TRUE(becomes("memAvailable", 25));
  spoke->put(kube::resources::nodes(), node_with("n2", "30", "8Gi"));
  EXPECT_TRUE(becomes("cpuAvailable", 45)) << published("cpuAvailable");
  spoke->erase(kube::resources::pods(), "default", "p");
  EXPECT_TRUE(becomes("cpuAvailable", 50)) << published("cpuAvailable");
}

TEST_F(ScorePublisher, PrefersWhatIsMeasured) {
  spoke->put(kube::resources::nodes(), node_with("n1", "20", "512Gi"));
  spoke->put(kube::resources::pods(), pod_on("n1", Json::array({container_asking("19", "1Gi")})));
  spoke->put({"metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", false}, {{"apiVersion", "metrics.k8s.io/v1beta1"},
                                                                            {"kind", "NodeMetrics"},
                                                                            {"metadata", {{"name", "n1"}}},
                                                                            {"usage", {{"cpu", "1500m"}, {"memory", "1Gi"}}}});
  run();
  EXPECT_TRUE(becomes("cpuAvailable", 18)) << published("cpuAvailable");
}

}  // namespace
}  // namespace fleetadm::addon
