// Add-ons between upstream's programs and ours, on a fleet of its own for each case.
#pragma once

#include <filesystem>
#include <gtest/gtest.h>
#include <set>

#include "kubeclient/base/encoding.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/rest/client.h"
#include "tests/interop/peers.h"
#include "tests/support/fleet.h"

namespace fleetadm::testkit {

inline constexpr std::string_view kAddonsOfBeta = "/apis/addon.open-cluster-management.io/v1beta1";
inline constexpr std::string_view kInstallNamespace = "open-cluster-management-agent-addon";

inline std::string addon_path(const std::string& cluster, const std::string& addon) {
  return std::string(kAddonsOfBeta) + "/namespaces/" + cluster + "/managedclusteraddons/" + addon;
}
inline std::string hub_kubeconfig_secret(const std::string& addon) {
  return "/api/v1/namespaces/" + std::string(kInstallNamespace) + "/secrets/" + addon + "-hub-kubeconfig";
}

class AddonFleet : public ::testing::Test {
 protected:
  void begin(int spokes) {
    auto started = Fleet::start(spokes);
    ASSERT_TRUE(started) << started.error().message;
    fleet_ = std::move(*started);
    peers_.emplace(fleet_->folder());
  }
  void join(const Json& ticket, const std::string& cluster) {
    const Ran joined =
        fleet_->run({"join", "--context", cluster, "--cluster-name", cluster, "--hub-apiserver", str(ticket, {"hub-apiserver"}),
                     "--hub-token", str(ticket, {"hub-token"}), "--ca-cert-hash", str(ticket, {"ca-cert-hash"}), "--wait"});
    ASSERT_EQ(joined.code, 0) << joined.both();
    const Ran accepted = fleet_->run({"accept", cluster, "--context", "hub", "--yes", "--wait=available"});
    ASSERT_EQ(accepted.code, 0) << accepted.both();
  }
  /// Our hub, run by its node as a Deployment, with the rights that init gives it.
  void start_our_hub(int spokes) {
    ASSERT_NO_FATAL_FAILURE(begin(spokes));
    const Ran init = fleet_->run({"init", "--context", "hub", "--wait", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
    for (int i = 1; i <= spokes; ++i) ASSERT_NO_FATAL_FAILURE(join(init.json(), "c" + std::to_string(i)));
  }

  void make(const std::string& collection, Json object, const char* version = "v1beta1") {
    object["apiVersion"] = std::string("addon.open-cluster-management.io/") + version;
    const std::string path = "/apis/addon.open-cluster-management.io/" + std::string(version) + collection;
    const auto answer = fleet_->hub().create(path, object);
    ASSERT_EQ(answer.status, 201) << answer.body;
  }
  void enable(const std::string& cluster, const std::string& addon, const Json& annotations = Json::object()) {
    make("/namespaces/" + cluster + "/managedclusteraddons",
         {{"kind", "ManagedClusterAddOn"},
          {"metadata", {{"name", addon}, {"namespace", cluster}, {"annotations", annotations}}},
          {"spec", Json::object()}});
  }
  bool told(const std::string& cluster, const std::string& addon, const char* type, const char* status) {
    return condition_becomes(fleet_->hub(), addon_path(cluster, addon), type, status, std::chrono::seconds(90));
  }
  Json now(const std::string& cluster, const std::string& addon) { return fleet_->hub().get(addon_path(cluster, addon)); }
  std::string stored(int spoke, const std::string& addon, const char* key) {
    return base64_decode(str(fleet_->spoke(spoke).get(hub_kubeconfig_secret(addon)), {"data", key})).value_or("");
  }
  /// Writes the Secret of an add-on as a pod that mounts it sees it; the path of the kubeconfig.
  std::string mounted(int spoke, const std::string& addon) {
    for (const char* key : {"tls.crt", "tls.key", "token"}) {
      std::filesystem::remove(fleet_->folder().path() / key);
      if (const std::string text = stored(spoke, addon, key); !text.empty()) fleet_->folder().write(key, text);
    }
    return fleet_->folder().write(addon + ".kubeconfig", stored(spoke, addon, "kubeconfig"));
  }
  std::string user_of(const std::string& kubeconfig) {
    kube::ConfigOverrides from;
    from.kubeconfig = kubeconfig;
    const auto config = kube::load_rest_config(from);
    if (!config) return config.error().message;
    const auto& reviews = kube::resources::self_subject_reviews();
    const auto self = kube::Client::connect(*config).post(reviews.path({}),
                                                          {{"apiVersion", reviews.api_version()}, {"kind", reviews.kind}}, true);
    return self ? str(*self, {"status", "userInfo", "username"}) : self.error().message;
  }
  std::set<std::string> works_of(const std::string& addon) {
    std::set<std::string> names;
    const Json list = fleet_->hub().get(
        "/apis/work.open-cluster-management.io/v1/manifestworks?labelSelector=open-cluster-management.io%2Faddon-name%3D" +
        addon);
    for (const Json& work : list_at(list, {"items"})) names.insert(namespace_of(work) + "/" + name_of(work));
    return names;
  }
  void put_on_hub(const std::string& ns, const std::string& name) {
    const auto made =
        fleet_->hub().create("/api/v1/namespaces/" + ns + "/configmaps", {{"apiVersion", "v1"},
                                                                          {"kind", "ConfigMap"},
                                                                          {"metadata", {{"name", name}, {"namespace", ns}}},
                                                                          {"data", {{"from", "hub"}}}});
    ASSERT_EQ(made.status, 201) << made.body;
  }
  bool feature_becomes(const std::string& cluster, const std::string& addon, const std::string& value) {
    return eventually(
        [&] {
          return label_of(fleet_->hub().get(std::string(kManagedClusters) + "/" + cluster),
                          "feature.open-cluster-management.io/addon-" + addon) == value;
        },
        std::chrono::seconds(60));
  }

  std::unique_ptr<Fleet> fleet_;
  std::optional<Peers> peers_;  // ends before the servers do
};

}  // namespace fleetadm::testkit
