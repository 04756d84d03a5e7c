// What the suites on a fleet of real servers share: the fleet is started once, for all cases of a suite.
#pragma once

#include <gtest/gtest.h>
#include <utility>

#include "tests/support/fleet.h"

namespace fleetadm::testkit {

class FleetTest : public ::testing::Test {
 protected:
  /// For a suite's SetUpTestSuite: does nothing where there are no servers. Call it in ASSERT_NO_FATAL_FAILURE.
  static void begin(int spokes, bool nodes, KubeServerOptions of_hub = {}, KubeServerOptions of_spokes = {}) {
    auto started = Fleet::start(spokes, nodes, std::move(of_hub), std::move(of_spokes));
    ASSERT_TRUE(started) << started.error().message;
    fleet() = std::move(*started);
  }
  static void TearDownTestSuite() {
    controllers().reset();
    fleet().reset();
  }
  void SetUp() override {
    FLEETADM_NEEDS_KUBE_SERVERS();
    ASSERT_TRUE(fleet()) << "the fleet did not start";
  }

  static std::unique_ptr<Fleet>& fleet() {
    static std::unique_ptr<Fleet> the_fleet;
    return the_fleet;
  }
  static Ran run(const std::vector<std::string>& args, const RunOptions& options = {}) { return fleet()->run(args, options); }

  /// A ClusterRole of one rule, and its binding to the user carol.
  static void allow_carol(const KubeServer& server, const Json& rule) {
    const std::string rbac = "/apis/rbac.authorization.k8s.io/v1";
    const std::string api = "rbac.authorization.k8s.io";
    const Json role{{"apiVersion", api + "/v1"},
                    {"kind", "ClusterRole"},
                    {"metadata", {{"name", "of-carol"}}},
                    {"rules", Json::array({rule})}};
    const Json binding{{"apiVersion", api + "/v1"},
                       {"kind", "ClusterRoleBinding"},
                       {"metadata", {{"name", "of-carol"}}},
                       {"roleRef", {{"apiGroup", api}, {"kind", "ClusterRole"}, {"name", "of-carol"}}},
                       {"subjects", Json::array({{{"kind", "User"}, {"apiGroup", api}, {"name", "carol"}}})}};
    for (const auto& [collection, object] : {std::pair{"/clusterroles", role}, std::pair{"/clusterrolebindings", binding}}) {
      const KubeServer::Answer made = server.create(rbac + collection, object);
      ASSERT_EQ(made.status, 201) << made.body;
    }
  }

  /// The hub's controllers as a process of their own.
  static void start_controllers() { start_controllers_as(fleet()->hub().kubeconfig_file()); }
  /// With the rights that init gives them.
  static void start_controllers_with_own_rights(const std::vector<std::string>& more = {}) {
    const KubeServer& hub = fleet()->hub();
    const KubeServer::Answer token =
        hub.request("POST", "/api/v1/namespaces/open-cluster-management-hub/serviceaccounts/fleetadm-hub/token",
                    R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})");
    ASSERT_EQ(token.status, 201) << token.body;
    start_controllers_as(
        fleet()->folder().write("hub.kubeconfig", hub.kubeconfig_with_token(str(token.json(), {"status", "token"}))), more);
  }
  static void start_controllers_as(const std::string& kubeconfig_file, const std::vector<std::string>& more = {}) {
    controllers().reset();
    sandbox::ChildSpec spec;
    spec.program = Fleet::binary();
    spec.args = {"hub", "run", "--kubeconfig", kubeconfig_file, "--leader-elect=false"};
    spec.args.insert(spec.args.end(), more.begin(), more.end());
    spec.environment = {"HOME=" + fleet()->folder().path().string(), "PATH=/usr/bin:/bin"};
    spec.output_file = (fleet()->folder().path() / "hub.log").string();
    auto child = sandbox::Child::start(spec);
    ASSERT_TRUE(child) << child.error().message;
    controllers().emplace(std::move(*child));
  }
  static std::optional<sandbox::Child>& controllers() {
    static std::optional<sandbox::Child> child;
    return child;
  }

  /// The join of c1 with what init has printed (-o json).
  static std::vector<std::string> join_args(const Json& ticket) {
    return {"join",
            "--context",
            "c1",
            "--cluster-name",
            "c1",
            "--hub-apiserver",
            str(ticket, {"hub-apiserver"}),
            "--hub-token",
            str(ticket, {"hub-token"}),
            "--ca-cert-hash",
            str(ticket, {"ca-cert-hash"})};
  }
  /// A hub, and c1 as its member. Call it in ASSERT_NO_FATAL_FAILURE.
  static void have_member() {
    const Ran init = run({"init", "--context", "hub", "--wait", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
    const Ran joined = run(join_args(init.json()));
    ASSERT_EQ(joined.code, 0) << joined.both();
    const Ran accepted = run({"accept", "c1", "--context", "hub", "--yes", "--wait=available"});
    ASSERT_EQ(accepted.code, 0) << accepted.both();
  }
};

}  // namespace fleetadm::testkit
