// The fixture of the cases on real nodes: a hub and two spokes, started once, and what the cases ask of them.
#pragma once

#include <chrono>
#include <cstdio>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/kubelet/images.h"
#include "tests/kubelet/real_fleet.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {

using Steady = std::chrono::steady_clock;
using std::chrono::seconds;

inline constexpr int kHub = 0;
inline constexpr const char* kHubNamespace = "open-cluster-management-hub";
inline constexpr const char* kAgentNamespace = "open-cluster-management-agent";
inline constexpr const char* kHostedNamespace = "open-cluster-management-hosted";
inline constexpr seconds kPatience{120};

class RealNodes : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!ContainerNode::needs()) return;
    const auto since = Steady::now();
    auto started = RealFleet::start(2);
    ASSERT_TRUE(started) << started.error().message;
    fleet() = std::move(*started);
    tell("nodes ready", since);
    allow_carol(fleet()->hub(),
                {{"apiGroups", {"proxy.open-cluster-management.io"}}, {"resources", {"clusters/proxy"}}, {"verbs", {"*"}}});
    for (int i = 1; i <= 2; ++i)
      allow_carol(fleet()->server(i), {{"apiGroups", {"", "apps"}}, {"resources", {"*"}}, {"verbs", {"*"}}});
    for (int i = 0; i <= 2; ++i) before()[i] = inventory(fleet()->server(i));
  }
  static void TearDownTestSuite() { fleet().reset(); }
  void SetUp() override {
    if (const Status able = ContainerNode::needs(); !able) {
      if (in_ci()) FAIL() << able.error().message << "; " << able.error().hint;
      GTEST_SKIP() << able.error().message << "; " << able.error().hint;
    }
    ASSERT_TRUE(fleet()) << "the nodes did not start";
    if (broken()) GTEST_FAIL() << "a case before this one failed";
  }
  void TearDown() override { broken() = broken() || HasFatalFailure(); }

  static std::unique_ptr<RealFleet>& fleet() {
    static std::unique_ptr<RealFleet> the_fleet;
    return the_fleet;
  }
  static std::map<int, std::set<std::string>>& before() {
    static std::map<int, std::set<std::string>> all;
    return all;
  }
  static bool& broken() {
    static bool is_broken = false;
    return is_broken;
  }
  static void tell(const std::string& what, Steady::time_point since) {
    std::printf("%s: %.1f s\n", what.c_str(), std::chrono::duration<double>(Steady::now() - since).count());
    std::fflush(stdout);
  }
  static std::string cluster(int i) { return "c" + std::to_string(i); }
  static Ran on_hub(std::vector<std::string> args, const std::string& input = {}) {
    RunOptions options;
    options.input = input;
    args.insert(args.end(), {"--context", "hub"});
    return fleet()->run(kHub, args, options);
  }
  static Ran apply_web(const std::string& manifests, std::vector<std::string> flags = {}) {
    std::vector<std::string> args{"work", "apply", "web", "-f", "-", "--placement", "apps/all"};
    args.insert(args.end(), flags.begin(), flags.end());
    return on_hub(args, manifests);
  }
  /// As a user who may use the proxy, and Pods and Deployments at the clusters.
  static Ran as_carol(const std::vector<std::string>& args) {
    RunOptions options;
    options.environment = {{"KUBECONFIG", fleet()->hub().kubeconfig_file_for("carol")}};
    return fleet()->run(kHub, args, options);
  }
  static Ran kubectl(int i, const std::vector<std::string>& args) {
    std::vector<std::string> words{"proxy", "kubectl", "--cluster", cluster(i), "--", "--namespace", "web"};
    words.insert(words.end(), args.begin(), args.end());
    return as_carol(words);
  }
  /// The only pod of a Deployment; null where it has none, or several.
  static Json pod(int i, const std::string& ns, const std::string& app) {
    const auto pods = pods_of(fleet()->server(i), ns, app);
    return pods.size() == 1 ? pods.front() : Json();
  }
  static Json agent(int i) { return pod(i, kAgentNamespace, "fleetadm-agent"); }
  static std::string version_of(const Json& pod) {
    for (const Json& container : list_at(pod, {"spec", "containers"}))
      for (const Json& one : list_at(container, {"env"})) return str(one, {"value"});
    return {};
  }
  static std::int64_t restarts(const Json& pod) {
    for (const Json& container : list_at(pod, {"status", "containerStatuses"})) return num(container, {"restartCount"});
    return 0;
  }
  /// The one pod of web is of this version, and ready.
  static bool serves(int i, const std::string& version) {
    const Json only = pod(i, "web", "web");
    return version_of(only) == version && pod_is_ready(only);
  }
  /// What `get clusters -o wide` shows of a cluster's agent.
  static void expect_told(int i, const std::string& words) {
    Ran shown;
    EXPECT_TRUE(eventually(
        [&] {
          shown = on_hub({"get", "clusters", cluster(i), "-o", "wide"});
          return shown.out.find(words) != std::string::npos;
        },
        kPatience, std::chrono::milliseconds(500)))
        << shown.both();
  }
  static void expect_served(const std::string& version) {
    for (int i = 1; i <= 2; ++i) {
      EXPECT_TRUE(eventually([&] { return serves(i, version); }, kPatience))
          << cluster(i) << " does not serve " << version << ": " << dump_json(pod(i, "web", "web"));
    }
  }
};

}  // namespace fleetadm::testkit
