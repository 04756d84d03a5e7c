// Agents and a gateway whose clocks are ten minutes from the hub's: they join, their tunnels come up, and requests pass.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "core/proxy/client/gateway_access.h"
#include "kubeclient/config/kubeconfig.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

using std::chrono::seconds;

constexpr int kWrongBy = 600;  // seconds

class WrongClocks : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(2, false));  // nothing runs but what the cases start
    const Ran made = run({"init", "--context", "hub", "--gateway", "-o", "json"});
    ASSERT_EQ(made.code, 0) << made.both();
    start_controllers();
    for (const std::string cluster : {"c1", "c2"}) {
      std::vector<std::string> args = join_args(made.json());
      std::replace(args.begin(), args.end(), std::string("c1"), cluster);
      const Ran joined = run(args);
      ASSERT_EQ(joined.code, 0) << joined.both();
    }
  }

  static Result<sandbox::Child> start(const std::string& name, std::vector<std::string> args, int wrong_by) {
    const auto library = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libshifted_clock.so";
    EXPECT_TRUE(std::filesystem::exists(library)) << library;
    sandbox::ChildSpec spec;
    spec.program = Fleet::binary();
    spec.args = std::move(args);
    spec.environment = {"HOME=" + fleet()->folder().path().string(), "PATH=/usr/bin:/bin", "LD_PRELOAD=" + library.string(),
                        "FLEETADM_TEST_CLOCK_SHIFT=" + std::to_string(wrong_by)};
    spec.output_file = log_of(name);
    return sandbox::Child::start(spec);
  }
  static std::string log_of(const std::string& name) { return (fleet()->folder().path() / (name + ".log")).string(); }
  static Result<sandbox::Child> start_agent(int i, int wrong_by) {
    const std::string cluster = "c" + std::to_string(i);
    return start(cluster, {"agent", "run", "--kubeconfig", fleet()->spoke(i).kubeconfig_file(), "--cluster-name", cluster},
                 wrong_by);
  }
  static Result<sandbox::Child> start_gateway(int wrong_by) {
    return start("gateway" + std::to_string(wrong_by),
                 {"gateway", "run", "--kubeconfig", fleet()->hub().kubeconfig_file(), "--address=127.0.0.1:0",
                  "--tunnel-address=127.0.0.1:0", "--drain-timeout=1s"},
                 wrong_by);
  }
  static testing::AssertionResult reaches(const std::string& cluster) {
    std::string last;
    const auto tried = [&]() -> Status {
      kube::ConfigOverrides overrides;
      overrides.kubeconfig = fleet()->hub().kubeconfig_file_for("carol");
      FLEETADM_TRY(const kube::RestConfig config, kube::load_rest_config(overrides));
      FLEETADM_TRY(const auto gateway, proxy::find_gateway(kube::Client::connect(config)));
      FLEETADM_TRY(const kube::RestConfig member, proxy::member_config(config, gateway, cluster));
      kube::Request request;
      request.path = "/api/v1/namespaces/default/configmaps";
      FLEETADM_TRY(const kube::Response answer, kube::Client::connect(member).transport()->call(request));
      if (answer.status != 200) return fail(Category::kUnavailable, std::to_string(answer.status) + " " + answer.body);
      return {};
    };
    const bool reached = eventually(
        [&] {
          const Status done = tried();
          last = done ? std::string() : done.error().message;
          return done.has_value();
        },
        seconds(90));
    return reached ? testing::AssertionSuccess() : testing::AssertionFailure() << last << "\n" << read_file(log_of(cluster));
  }
  /// By how many seconds an agent's clock is wrong, as its Lease says; nothing without one.
  static std::optional<double> told_by_lease(const std::string& cluster) {
    const Json lease = fleet()->hub().get("/apis/coordination.k8s.io/v1/namespaces/" + cluster + "/leases/managed-cluster-lease");
    const auto renewed = parse_time(str(lease, {"spec", "renewTime"}));
    if (!renewed) return std::nullopt;
    return std::chrono::duration<double>(*renewed - Clock::system()->now()).count();
  }
};

TEST_F(WrongClocks, ClustersJoinAndAreReachedThroughTheGateway) {
  allow_carol(fleet()->hub(),
              {{"apiGroups", {"proxy.open-cluster-management.io"}}, {"resources", {"clusters/proxy"}}, {"verbs", {"*"}}});
  for (int i = 1; i <= 2; ++i)
    allow_carol(fleet()->spoke(i), {{"apiGroups", {""}}, {"resources", {"configmaps"}}, {"verbs", {"list"}}});
  auto gateway = start_gateway(0);
  ASSERT_TRUE(gateway) << gateway.error().message;
  auto ahead = start_agent(1, kWrongBy);
  ASSERT_TRUE(ahead) << ahead.error().message;
  auto behind = start_agent(2, -kWrongBy);
  ASSERT_TRUE(behind) << behind.error().message;
  for (const std::string cluster : {"c1", "c2"}) {
    ASSERT_TRUE(eventually(
        [&] {
          const KubeServer& member = fleet()->spoke(cluster == "c1" ? 1 : 2);
          return run({"accept", cluster, "--context", "hub", "--yes"}).code == 0 &&
                 !str(member.get("/api/v1/namespaces/open-cluster-management-agent/secrets/hub-kubeconfig-secret"),
                      {"data", "tls.crt"})
                      .empty();
        },
        seconds(90)))
        << read_file(log_of(cluster));
    EXPECT_TRUE(reaches(cluster));
    // The hub makes the Lease, by its own clock; the agent's heartbeat begins when all its parts are ready.
    const double wrong_by = cluster == "c1" ? kWrongBy : -kWrongBy;
    EXPECT_TRUE(eventually([&] { return std::abs(told_by_lease(cluster).value_or(0) - wrong_by) < 120; }, seconds(90)))
        << "its clock is not wrong: " << told_by_lease(cluster).value_or(0) << read_file(log_of(cluster));
  }
  for (const int wrong_by : {kWrongBy, -kWrongBy}) {
    gateway->stop(seconds(10));
    fleet()->hub().request("DELETE", "/api/v1/namespaces/open-cluster-management-hub/configmaps/fleetadm-gateway");
    gateway = start_gateway(wrong_by);
    ASSERT_TRUE(gateway) << gateway.error().message;
    for (const std::string cluster : {"c1", "c2"})
      EXPECT_TRUE(reaches(cluster)) << wrong_by << read_file(log_of("gateway" + std::to_string(wrong_by)));
  }
}

}  // namespace
}  // namespace fleetadm::testkit
