// Invariants 4 and 9 (docs/architecture.md#invariants): whatever lists and watches fail, whatever writes are refused or lose
// their answer and however far caches lag, a cluster that stays eligible is never unselected. Every cluster has a taint that only
// decided clusters are spared, so that a pass which has not seen its own decisions would let all of them go.
#include <atomic>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <thread>

#include "core/api/kinds.h"
#include "core/placement/hub/controller.h"
#include "tests/support/fake_api.h"
#include "tests/support/property.h"
#include "tests/unit/core/placement/fixtures.h"

namespace fleetadm::placement {
namespace {

using testkit::FakeApi;
using testkit::Random;

constexpr std::string_view kSetLabel = "cluster.open-cluster-management.io/clusterset";
constexpr int kFirst = 5;  // clusters that are there, and decided, at the start

struct Step {
  enum class Kind { kFail, kRefuse, kLoseAnswer, kBreakWatches, kExpireHistory, kNewCluster, kBeat, kRestart };
  Kind kind;
  std::string verb;
  std::string plural;
  int number = 0;  // of times, or of a cluster
};

std::string describe_steps(const std::vector<Step>& steps) {
  static const char* const names[] = {"fail",           "refuse",      "lose answer of", "break watches",
                                      "expire history", "new cluster", "beat of",        "restart"};
  std::string out;
  for (const Step& step : steps) {
    out += std::string(names[static_cast<int>(step.kind)]) + " " + step.verb + " " + step.plural + " " +
           std::to_string(step.number) + "\n";
  }
  return out;
}

std::vector<Step> random_steps(Random& random) {
  std::vector<Step> steps;
  const int count = 4 + random.below(10);
  int clusters = kFirst;
  for (int i = 0; i < count; ++i) {
    Step step{static_cast<Step::Kind>(random.below(8)), {}, {}, 0};
    switch (step.kind) {
      case Step::Kind::kFail:
      case Step::Kind::kRefuse:
        step.verb = random.one_of({"list", "watch", "create", "patch", "delete"});
        step.plural = step.verb == "list" || step.verb == "watch"
                          ? random.one_of({"managedclusters", "managedclustersets", "managedclustersetbindings",
                                           "placementdecisions", "placements", "addonplacementscores"})
                          : random.one_of({"placementdecisions", "placements"});
        step.number = 1 + random.below(3);
        break;
      case Step::Kind::kLoseAnswer:
        step.verb = random.one_of({"create", "patch", "delete"});
        step.plural = "placementdecisions";
        break;
      case Step::Kind::kNewCluster: step.number = clusters++; break;
      case Step::Kind::kBeat: step.number = random.below(kFirst); break;
      default: break;
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

/// A hub in memory, its placement controller, and what is wrong with what it did.
class Trial {
 public:
  std::string wrong(const std::vector<Step>& steps) {
    prepare();
    api_->on_request([this](const testkit::ApiCall& call) -> std::optional<kube::Response> {
      if (call.is_write()) look(call.verb + " " + call.path);
      return std::nullopt;
    });
    start();
    std::set<std::string> all;
    for (int i = 0; i < kFirst; ++i) all.insert(name(i));
    for (const Step& step : steps) {
      play(step, all);
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
    const bool settled = eventually([&] { return selected() == all; });
    stop();
    look("the end");
    const std::lock_guard lock(mutex_);
    if (!hole_.empty()) return hole_;
    return settled ? "" : "not every cluster is selected in the end";
  }

 private:
  static std::string name(int number) { return "c" + std::to_string(10 + number); }

  void prepare() {
    put(api::managed_cluster_sets(), fleetadm::test::set_object("s"));
    put(api::managed_cluster_set_bindings(), fleetadm::test::binding_object("apps", "s"));
    std::vector<std::string> first;
    for (int i = 0; i < kFirst; ++i) {
      put_cluster(i, true, 0);
      first.push_back(name(i));
    }
    put(api::placement_decisions(), fleetadm::test::decision_object("apps", "p-decision-1", "p", first));
    put(api::placements(), fleetadm::test::placement_object(
                               "apps", "p", {{"decisionStrategy", {{"groupStrategy", {{"clustersPerDecisionGroup", 2}}}}}}));
  }
  void put(const kube::Resource& type, Json object) {
    object["apiVersion"] = type.api_version();
    api_->put(type, std::move(object));
  }
  void put_cluster(int number, bool tainted, int beat) {
    Json taints = Json::array();
    if (tainted) taints.push_back({{"key", "k"}, {"effect", "NoSelectIfNew"}, {"timeAdded", "2026-03-01T09:00:00Z"}});
    put(api::managed_clusters(),
        fleetadm::test::cluster_object(name(number), {{std::string(kSetLabel), "s"}, {"beat", std::to_string(beat)}}, taints));
  }

  void start() {
    manager_ =
        std::make_unique<controller::Manager>(controller::Manager::Options{.threads = 3, .health_address = {}, .clock = clock_});
    add_placement_controller(*manager_, api_->client(), clock_);
    thread_ = std::jthread([this](std::stop_token token) { static_cast<void>(manager_->run(token)); });
  }
  void stop() {
    thread_.request_stop();
    thread_.join();
    manager_.reset();
  }

  void play(const Step& step, std::set<std::string>& all) {
    switch (step.kind) {
      case Step::Kind::kFail:
        api_->fail_next(step.verb, step.plural, step.verb == "patch" ? 409 : 500, "Trouble", step.number);
        break;
      case Step::Kind::kRefuse: api_->refuse_next(step.verb, step.plural, step.number); break;
      case Step::Kind::kLoseAnswer: api_->lose_answer_of_next(step.verb, step.plural); break;
      case Step::Kind::kBreakWatches: api_->break_watches(); break;
      case Step::Kind::kExpireHistory: api_->expire_history(); break;
      case Step::Kind::kNewCluster:
        put_cluster(step.number, false, 0);
        all.insert(name(step.number));
        break;
      case Step::Kind::kBeat: put_cluster(step.number, true, ++beat_); break;
      case Step::Kind::kRestart:
        stop();
        start();
        break;
    }
  }

  std::set<std::string> selected() const {
    std::set<std::string> names;
    for (const Json& object : api_->all(api::placement_decisions())) {
      for (std::string& one : decode_decision(object).clusters) names.insert(std::move(one));
    }
    return names;
  }
  void look(const std::string& when) {
    const std::set<std::string> now = selected();
    const std::lock_guard lock(mutex_);
    for (int i = 0; i < kFirst && hole_.empty(); ++i) {
      if (!now.contains(name(i))) hole_ = name(i) + " is unselected at: " + when;
    }
  }
  template <class Done>
  static bool eventually(Done done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>(fleetadm::test::test_now());
  std::shared_ptr<FakeApi> api_ = FakeApi::make();
  std::unique_ptr<controller::Manager> manager_;
  std::jthread thread_;
  std::mutex mutex_;
  std::string hole_;
  int beat_ = 0;
};

TEST(PlacementChaos, AClusterThatStaysEligibleIsNeverUnselected) {
  testkit::holds_for_all<std::vector<Step>>(40, {random_steps, [](const auto& steps) { return testkit::shorter(steps); },
                                                 describe_steps, [](const auto& steps) { return Trial().wrong(steps); }, 40});
}

}  // namespace
}  // namespace fleetadm::placement
