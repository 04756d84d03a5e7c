// One cluster with two hubs: the agent is with one of them at a time, and leaves it when it is denied there or when the hub is
// silent. c2 is the second hub.
#include <algorithm>
#include <gtest/gtest.h>

#include "kubeclient/base/encoding.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kCluster = "/apis/cluster.open-cluster-management.io/v1/managedclusters/c1";
constexpr std::string_view kLease = "/apis/coordination.k8s.io/v1/namespaces/c1/leases/managed-cluster-lease";
constexpr std::string_view kAgentSecrets = "/api/v1/namespaces/open-cluster-management-agent/secrets";
constexpr std::string_view kWorkKind = "/apis/work.open-cluster-management.io/v1/namespaces/c1/manifestworks";

class SeveralHubs : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(2, true));
    Json ticket;
    std::string second_hub;
    for (const char* context : {"c2", "hub"}) {
      const Ran init = fleet()->run({"init", "--context", context, "--wait", "-o", "json"});
      ASSERT_EQ(init.code, 0) << init.both();
      ticket = init.json();
      if (context == std::string_view("c2"))
        second_hub = fleet()->folder().write("second.kubeconfig", second().kubeconfig_with_token(str(ticket, {"hub-token"})));
    }
    auto args = join_args(ticket);
    args.insert(args.end(), {"--fallback-hub", second_hub, "--agent-arg=--hub-connection-timeout=10s"});
    const Ran join = fleet()->run(args);
    ASSERT_EQ(join.code, 0) << join.both();
  }

  static KubeServer& first() { return fleet()->hub(); }
  static KubeServer& second() { return fleet()->spoke(2); }

  static void accepted_by(const char* context, const KubeServer& hub) {
    ASSERT_TRUE(hub.eventually(
        "/apis/certificates.k8s.io/v1/certificatesigningrequests",
        [](const Json& requests) {
          const Json& items = list_at(requests, {"items"});
          return std::any_of(items.begin(), items.end(), [](const Json& request) {
            return label_of(request, "open-cluster-management.io/cluster-name") == "c1" &&
                   str(request, {"status", "certificate"}).empty();
          });
        },
        std::chrono::seconds(90)));
    const Ran accept = fleet()->run({"accept", "--context", context, "c1", "--wait=available", "--yes"});
    ASSERT_EQ(accept.code, 0) << accept.both();
    EXPECT_TRUE(is_with(hub)) << "the agent is with another hub";
  }
  static void denied_by(const char* context) {
    const Ran deny = fleet()->run({"cluster", "deny", "--context", context, "c1", "--allow-removals"});
    ASSERT_EQ(deny.code, 0) << deny.both();
  }
  static std::string renewed(const KubeServer& hub) { return str(hub.get(kLease), {"spec", "renewTime"}); }
  /// That the agent comes to this hub, with its former credential: nobody has to approve it again.
  static void comes_to(const KubeServer& hub, const std::string& renewed_before) {
    EXPECT_TRUE(eventually([&] { return is_with(hub); }, std::chrono::seconds(60)));
    EXPECT_TRUE(eventually([&] { return renewed(hub) != renewed_before; }, std::chrono::seconds(60)));
  }
  /// Whether the agent's credential is one for this hub.
  static bool is_with(const KubeServer& hub) {
    const Json secret = fleet()->spoke(1).get(std::string(kAgentSecrets) + "/hub-kubeconfig-secret");
    const auto kubeconfig = base64_decode(str(secret, {"data", "kubeconfig"}));
    return kubeconfig && kubeconfig->find(hub.url()) != std::string::npos && !str(secret, {"data", "tls.crt"}).empty();
  }
};

TEST_F(SeveralHubs, A_TheFirstIsJoined) {
  accepted_by("hub", first());
  EXPECT_TRUE(second().get(kCluster).is_null()) << "nothing is asked of the second";
  const auto made = first().create(
      kWorkKind, {{"apiVersion", "work.open-cluster-management.io/v1"},
                  {"kind", "ManifestWork"},
                  {"metadata", {{"name", "kept"}, {"namespace", "c1"}}},
                  {"spec",
                   {{"workload",
                     {{"manifests", Json::array({{{"apiVersion", "v1"},
                                                  {"kind", "ConfigMap"},
                                                  {"metadata", {{"name", "kept"}, {"namespace", "default"}}}}})}}}}}});
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_TRUE(eventually([] { return !fleet()->spoke(1).get("/api/v1/namespaces/default/configmaps/kept").is_null(); }));
}

TEST_F(SeveralHubs, B_AHubThatDeniesTheClusterIsLeftForTheOther) {
  denied_by("hub");
  accepted_by("c2", second());
  EXPECT_FALSE(fleet()->spoke(1).get("/api/v1/namespaces/default/configmaps/kept").is_null())
      << "what the first hub's work applied stays for the grace period";
}

TEST_F(SeveralHubs, C_TheAgentComesBackWhenTheFirstAsksForItAgain) {
  const Ran accept = fleet()->run({"accept", "--context", "hub", "c1", "--yes"});
  ASSERT_EQ(accept.code, 0) << accept.both();
  EXPECT_TRUE(is_with(second())) << "a hub that is well is not left for another";
  const std::string before = renewed(first());
  denied_by("c2");
  comes_to(first(), before);
}

TEST_F(SeveralHubs, D_AHubThatIsSilentIsLeft) {
  const Ran accept = fleet()->run({"accept", "--context", "c2", "c1", "--yes"});
  ASSERT_EQ(accept.code, 0) << accept.both();
  const auto changed =
      first().request("PATCH", kCluster, R"({"spec":{"leaseDurationSeconds":2}})", "application/merge-patch+json");
  ASSERT_EQ(changed.status, 200) << changed.body;
  const std::string before = renewed(second());
  first().stop_apiserver();
  comes_to(second(), before);
  EXPECT_TRUE(first().start_apiserver());
}

}  // namespace
}  // namespace fleetadm::testkit
