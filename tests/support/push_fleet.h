// What the suites with members that the hub dials share (docs/reference/registration.md#push-members).
#pragma once

#include <string>
#include <vector>

#include "kubeclient/base/encoding.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {

inline const std::string kPushSecrets = "/api/v1/namespaces/open-cluster-management-push/secrets/";

class PushFleet : public FleetTest {
 protected:
  /// Makes the hub, and starts its controllers with no more rights than `init --push` gives them.
  static void begin_hub(const std::vector<std::string>& more = {}) {
    const Ran init = run({"init", "--push", "--context", "hub", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
    ASSERT_NO_FATAL_FAILURE(begin_controllers(more));
  }
  static void begin_controllers(const std::vector<std::string>& more = {}) {
    std::vector<std::string> args{"--push"};
    args.insert(args.end(), more.begin(), more.end());
    start_controllers_with_own_rights(args);
  }
  static Ran join(const std::string& context, const std::vector<std::string>& more = {}, const RunOptions& options = {}) {
    std::vector<std::string> args{"join",  "--push",           "--context", "hub", "--member-context",
                                  context, "--allow-loopback", "-o",        "json"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args, options);
  }
  static Ran unjoin(const std::string& name, const std::vector<std::string>& more = {}, const RunOptions& options = {}) {
    std::vector<std::string> args{"unjoin", "--push", "--context", "hub", "--cluster-name", name, "-o", "json"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args, options);
  }
  static std::string cluster_path(const std::string& name) { return std::string(kManagedClusters) + "/" + name; }
  /// With a ConfigMap of that name in the namespace default.
  static void work_of(const KubeServer& hub, const std::string& cluster, const std::string& name) {
    const Json map{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}, {"namespace", "default"}}}};
    const auto made = hub.create("/apis/work.open-cluster-management.io/v1/namespaces/" + cluster + "/manifestworks",
                                 {{"apiVersion", "work.open-cluster-management.io/v1"},
                                  {"kind", "ManifestWork"},
                                  {"metadata", {{"name", name}, {"namespace", cluster}}},
                                  {"spec", {{"workload", {{"manifests", Json::array({map})}}}}}});
    ASSERT_EQ(made.status, 201) << made.body;
  }
  static void work(const std::string& cluster, const std::string& name) { work_of(fleet()->hub(), cluster, name); }
  static bool map_is(int spoke, const std::string& name, bool there) {
    return eventually(
        [&] { return fleet()->spoke(spoke).get("/api/v1/namespaces/default/configmaps/" + name).is_null() != there; },
        std::chrono::minutes(2));
  }
  static std::string token_of(const std::string& cluster) {
    const Json secret = fleet()->hub().get(kPushSecrets + cluster);
    const std::string kubeconfig = base64_decode(str(secret, {"data", "kubeconfig"})).value_or("");
    const auto at = kubeconfig.find("token: ");
    return at == std::string::npos ? "" : kubeconfig.substr(at + 7, kubeconfig.find('\n', at) - at - 7);
  }
  static void set_holds(const std::string& cluster, const std::string& failure, const std::string& success) {
    const Json holds{
        {"metadata", {{"annotations", {{"fleetadm.io/failure-hold", failure}, {"fleetadm.io/success-hold", success}}}}}};
    const auto set = fleet()->hub().request("PATCH", cluster_path(cluster), dump_json(holds), "application/merge-patch+json");
    ASSERT_EQ(set.status, 200) << set.body;
  }
  static std::string ready_reason(const std::string& cluster) {
    for (const Json& one : list_at(fleet()->hub().get(cluster_path(cluster)), {"status", "conditions"})) {
      if (str(one, {"type"}) == "Ready") return str(one, {"reason"});
    }
    return {};
  }
  static bool ready_becomes(const std::string& cluster, const std::string& reason) {
    return eventually([&] { return ready_reason(cluster) == reason; }, std::chrono::seconds(60));
  }
};

}  // namespace fleetadm::testkit
